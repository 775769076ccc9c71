package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"petcat/internal/logging"
)

func (p *program) serveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "serve",
		GroupID: groupRun,
		Short:   "Run the service",
		Long: `Run the service until it receives SIGTERM or SIGINT. Then it reports that it is not
ready, stops accepting connections a second later, finishes the requests in flight
and closes its store. A second signal ends it at once.

If there is no deployment where --data or --database points, serve creates one, for
the environment that --environment names.`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, err := loadSettings(cmd, p.getenv)
			if err != nil {
				return err
			}
			return p.serve(cmd.Context(), settings, nil)
		},
	}
	registerServeFlags(cmd)
	return cmd
}

// drainBeat is how long a node that is about to stop goes on taking
// connections after it has said that it is not ready, so that a proxy that asks
// every second notices first.
const drainBeat = time.Second

// serve runs the service until ctx ends, a signal comes, or the store fails for
// good. Once it answers, it calls ready, which may be nil.
func (p *program) serve(ctx context.Context, settings Settings, ready func(*node) error) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, os.Interrupt)
	defer stop()

	log := p.newLog(settings)
	defer func() { _ = log.Close() }()

	// The addresses first: one that is taken is the most common mistake, and
	// the cheapest to find.
	listeners, err := listen(ctx, settings)
	if err != nil {
		return err
	}
	defer listeners.Close()

	n := p.newNode(settings, log, listeners)
	failed := n.start()
	go watchConnections(ctx, log.Logger, listeners.apiConns)
	if err = n.load(ctx, settings, p.clock); err != nil {
		n.abandon()
		return err
	}
	if _, set := p.getenv("GOGC"); !set {
		go tuneGC(ctx)
	}
	if ready != nil {
		err = ready(n)
	}
	if err == nil {
		log.InfoContext(ctx, "ready", "api", listeners.publicURL(settings)+"/v1", "admin", listeners.adminURL(settings),
			"listen", listeners.api.Addr().String(),
			"environment", n.store.Environment(), "categories", n.store.list.Count(), "version", build().Version)
		log.Flush()
		err = n.wait(ctx, failed)
	}
	// From here on, a second signal finds no handler and ends the process.
	stop()
	return errors.Join(err, n.shutdown(settings.ShutdownTimeout))
}

// wait returns nil when the node is told to stop, and an error when it cannot
// go on.
func (n *node) wait(ctx context.Context, failed <-chan error) error {
	select {
	case <-ctx.Done():
		n.log.Info("stopping: finishing the requests in flight")
		return nil
	case err := <-failed:
		return err
	case <-n.store.failed:
		return fmt.Errorf("the store failed and cannot be written until petcat is started again, which recovers from what is on disk: %w", n.store.err())
	}
}

// shutdownReserve is how much of the shutdown timeout is kept for what must not
// be waited for, a fifth of it at most: the clients that hold up their own
// requests, and then the closing of the store.
const shutdownReserve = 2 * time.Second

// shutdown stops in the reverse order of the start. It takes no longer than the
// timeout, whoever is connected: a client that does not send what it announced
// gets an error, one that does not read what it asked for is cut off, and both
// have only themselves to thank. It is an error when a request is given up that
// we have not finished.
func (n *node) shutdown(timeout time.Duration) error {
	n.health.drain()
	end := time.Now().Add(timeout)
	ctx, cancel := context.WithDeadline(context.Background(), end)
	defer cancel()
	beat := min(drainBeat, timeout/10)
	<-time.After(beat)
	// Whoever connected in the beat's last moment gets as long to say something.
	defer time.AfterFunc(beat, func() { n.listeners.apiConns.CloseUnused(); n.listeners.adminConns.CloseUnused() }).Stop()

	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = n.api.Shutdown(ctx) // whether it was in time is asked below
	}()
	step := min(shutdownReserve, timeout/5) / 4
	var errs []error
	if !closedBy(ended, end.Add(-4*step)) {
		n.listeners.apiConns.EndReads()
		if !closedBy(ended, end.Add(-3*step)) {
			n.listeners.apiConns.CloseConns()
		}
	}
	// With HTTP/2, the server does not wait for handlers.
	if !n.handler.idleBy(end.Add(-2 * step)) {
		errs = append(errs, fmt.Errorf("requests were still being worked on after --shutdown-timeout %s and were cut off", timeout))
	}
	_ = n.api.Close()
	errs = append(errs, n.close())
	// The last scrape may finish, but nothing waits for it.
	ctx, cancel = context.WithTimeout(ctx, min(beat, step))
	defer cancel()
	if n.admin.Shutdown(ctx) != nil {
		n.listeners.adminConns.CloseConns()
		_ = n.admin.Close()
	}
	// Whoever is still sending has had its answer since the API's shutdown, at least.
	n.listeners.apiConns.Settle(ctx)
	n.log.Info("stopped")
	return errors.Join(errs...)
}

// closedBy waits until a channel is closed, or until a moment, and reports whether
// the former came first.
func closedBy(closed <-chan struct{}, moment time.Time) bool {
	over := time.NewTimer(time.Until(moment))
	defer over.Stop()
	select {
	case <-closed:
		return true
	case <-over.C:
		return false
	}
}

// abandon ends a node whose data could not be loaded: that is what is reported.
func (n *node) abandon() {
	_ = n.api.Close()
	_ = n.close()
	_ = n.admin.Close()
}

// newLog returns the log of a server, on the error stream.
func (p *program) newLog(settings Settings) *logging.Log {
	format := logging.Format(settings.LogFormat)
	if format == "" {
		format = logging.JSON
		if p.isTerminal(p.stderr) {
			format = logging.Text
		}
	}
	return logging.New(p.stderr, settings.LogLevel, format)
}

// start serves both listeners, and returns where it will be told when one of
// them fails.
func (n *node) start() <-chan error {
	failed := make(chan error, 2)
	serve := func(server *http.Server, accept func() error) {
		if err := accept(); err != nil && !errors.Is(err, http.ErrServerClosed) {
			failed <- fmt.Errorf("serve %s: %w", server.Addr, err)
		}
	}
	go serve(n.admin, func() error { return n.admin.Serve(n.listeners.admin) })
	go serve(n.api, func() error { return n.api.Serve(n.listeners.api) })
	return failed
}
