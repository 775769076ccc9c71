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
		Long: `Run the service until it gets SIGTERM or SIGINT: then it is no longer ready,
takes no new connections after a beat, finishes the requests in flight, and
closes its store. A second signal ends it at once.`,
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
			"environment", n.store.Environment(), "categories", n.catalogCount(), "version", build().Version)
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

// shutdown stops in the reverse order of the start.
func (n *node) shutdown(timeout time.Duration) error {
	n.health.drain()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	beat := min(drainBeat, timeout/10)
	select {
	case <-time.After(beat):
	case <-ctx.Done():
	}
	// Whoever connected in the beat's last moment gets as long to say something.
	defer time.AfterFunc(beat, n.unused.close).Stop()
	var errs []error
	if err := n.api.Shutdown(ctx); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("requests were still in flight after --shutdown-timeout %s and were cut off", timeout)
		}
		errs = append(errs, err)
		_ = n.api.Close()
	}
	errs = append(errs, n.close())
	// The last scrape may finish, but nothing waits for it.
	ctx, cancel = context.WithTimeout(context.Background(), beat)
	defer cancel()
	if n.admin.Shutdown(ctx) != nil {
		_ = n.admin.Close()
	}
	n.log.Info("stopped")
	return errors.Join(errs...)
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
