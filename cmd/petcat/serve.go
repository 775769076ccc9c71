package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"petcat/internal/config"
	"petcat/internal/logging"
	"petcat/internal/server"
)

func (p *program) serveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "serve",
		GroupID: groupRun,
		Short:   "Run the service",
		Long: `Run the service until it receives SIGTERM or SIGINT. Then it reports that it is not
ready, stops accepting connections a second later, finishes the requests in flight
and closes its store. A second signal ends it at once. SIGHUP stops it alike on a
terminal; elsewhere it rereads the TLS certificate, and the service goes on.

If there is no deployment where --data or --database points, serve creates one, for
the environment that --environment names, except with --init=false.`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, err := p.loadSettings(cmd)
			if err != nil {
				return err
			}
			return p.serve(cmd, settings, nil)
		},
	}
	registerServeFlags(cmd)
	return cmd
}

// serve runs the service until the context of cmd ends, a signal comes, or the node cannot
// go on. When the node is ready, serve calls ready, which may be nil.
func (p *program) serve(cmd *cobra.Command, settings config.Settings, ready func(*server.Node) error) error {
	outliveReaders()
	ends := []os.Signal{syscall.SIGTERM, os.Interrupt}
	hangup := make(chan os.Signal, 1)
	if p.isTerminal(p.stdin) || p.isTerminal(p.stdout) || p.isTerminal(p.stderr) {
		ends = append(ends, syscall.SIGHUP) // the terminal was closed
	} else {
		signal.Notify(hangup, syscall.SIGHUP)
		defer signal.Stop(hangup)
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), ends...)
	defer stop()

	log := p.newLog(settings)
	defer func() { _ = log.Close() }()
	n, err := server.Start(ctx, server.Options{
		Settings: settings, Clock: p.clock, Log: log, Version: build().Version, Revision: build().Revision,
	})
	if err != nil && ctx.Err() != nil {
		return nil // stopped during the start, as asked
	} else if err != nil {
		return err
	}
	if ready != nil {
		err = ready(n)
	}
	if err == nil {
		err = n.Run(ctx, hangup)
	}
	// A second signal must end the process: so no handler may be left for it by the time
	// /readyz says that the node is draining. If the node stops without a signal, the
	// handler stays until the first one.
	if ctx.Err() != nil {
		stop()
	}
	context.AfterFunc(ctx, stop)
	return errors.Join(err, n.Shutdown(ctx))
}

// outliveReaders lets a write to stdout or stderr fail when nobody reads it any more. Otherwise
// SIGPIPE would end the process without a shutdown.
func outliveReaders() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// newLog returns the log of a server, on the error stream.
func (p *program) newLog(settings config.Settings) *logging.Log {
	format := logging.Format(settings.LogFormat)
	if format == "" {
		format = logging.JSON
		if p.isTerminal(p.stderr) {
			format = logging.Text
		}
	}
	return logging.New(p.stderr, settings.LogLevel, format)
}
