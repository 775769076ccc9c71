package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"petcat/internal/clock"
)

const (
	// drainDelay is how long a node that is about to stop goes on taking connections
	// after it has said that it is not ready, so that a proxy that asks every second
	// notices first.
	drainDelay = time.Second
	// shutdownReserve is how much of the shutdown timeout is kept for what must not
	// be waited for, a fifth of it at most: requests whose clients are slow, and
	// then the closing of the store.
	shutdownReserve = 2 * time.Second
	// closeTimeout bounds what a node still has to write when it stops, beside the
	// shutdown timeout.
	closeTimeout = 10 * time.Second
)

// Shutdown stops in the reverse order of the start, also when ctx has ended. It takes
// no longer than the shutdown timeout of the settings, whoever is connected: a client
// that does not send what it announced gets an error, one that does not read what it
// asked for is cut off, and both have only themselves to thank. It is an error when a
// request is given up that we have not finished.
func (n *Node) Shutdown(ctx context.Context) error {
	n.phase.set(draining)
	timeout := n.settings.ShutdownTimeout
	end := clock.Deadline(timeout)
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), end)
	defer cancel()
	delay := min(drainDelay, timeout/10)
	<-time.After(delay)
	// Whoever connected in the delay's last moment gets as long to say something.
	defer time.AfterFunc(delay, func() { n.listeners.apiConns.CloseNew(); n.listeners.adminConns.CloseNew() }).Stop()

	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = n.api.Shutdown(ctx) // whether it was in time is asked below
	}()
	step := min(shutdownReserve, timeout/5) / 4
	var errs []error
	if !closedBy(ctx, ended, end.Add(-4*step)) {
		n.listeners.apiConns.EndReads()
		if !closedBy(ctx, ended, end.Add(-3*step)) {
			n.listeners.apiConns.CloseConns()
		}
	}
	// With HTTP/2, the server does not wait for handlers.
	if !n.handler.idleBy(ctx, end.Add(-2*step)) {
		errs = append(errs, fmt.Errorf("requests were still in progress after --shutdown-timeout %s and were aborted", timeout))
	}
	_ = n.api.Close()
	errs = append(errs, n.close(ctx))
	// The last scrape may finish, but nothing waits for it.
	ctx, cancel = context.WithTimeout(ctx, min(delay, step))
	defer cancel()
	if n.admin.Shutdown(ctx) != nil {
		n.listeners.adminConns.CloseConns()
		_ = n.admin.Close()
	}
	// Whoever is still sending has had its answer since the API's shutdown, at least.
	n.listeners.apiConns.Settle(ctx)
	n.log.InfoContext(ctx, "stopped")
	return errors.Join(errs...)
}

// closedBy waits until a channel is closed, or until a moment, and reports whether
// the former came first.
func closedBy(ctx context.Context, closed <-chan struct{}, moment time.Time) bool {
	ctx, cancel := context.WithDeadline(ctx, moment)
	defer cancel()
	select {
	case <-closed:
		return true
	case <-ctx.Done():
		return false
	}
}

// abandon ends a node whose data could not be loaded: that is what is reported.
func (n *Node) abandon(ctx context.Context) {
	_ = n.api.Close()
	_ = n.close(ctx)
	_ = n.admin.Close()
}

// close lets go of everything, in the reverse order of load. It may be called on
// a node that is only half loaded.
func (n *Node) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	var errs []error
	if n.follow != nil {
		n.follow()
		n.following.Wait()
		n.keyring.Close()
	}
	if n.limiter != nil {
		errs = append(errs, n.limiter.Close(ctx))
	}
	if n.bans != nil {
		n.bans.Close()
	}
	n.seriesSteps.close()
	n.backupLooks.close()
	n.levelLooks.close()
	n.auditLooks.close()
	if n.usageWrites != nil {
		n.closeUsage(ctx)
	}
	n.monitor.close()
	if n.membership != nil {
		n.membership.close(ctx)
	}
	if n.backend != nil {
		errs = append(errs, n.backend.Close())
	}
	return errors.Join(errs...)
}
