package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"petcat/internal/clock"
)

const (
	// drainDelay is how long a node that stops still accepts connections after /readyz
	// says that it drains, so that a proxy that asks every second notices first.
	drainDelay = time.Second
	// shutdownReserve is how much of the shutdown timeout, a fifth of it at most, is kept
	// for the steps after slow clients have been waited for: cutting them off, and
	// closing the store.
	shutdownReserve = 2 * time.Second
	// closeTimeout bounds how long a node that stops writes what it still has in memory, and
	// closes the store. It is not part of the shutdown timeout.
	closeTimeout = 10 * time.Second
	// storeReserve is how much of closeTimeout is kept for closing the store: a PostgreSQL
	// that hangs is waited for twice, for the writer's connection and for the pool's, 2 s each.
	storeReserve = 4 * time.Second
)

// Shutdown drains and stops the node, in the reverse order of the start, even if ctx has
// ended. Clients cannot make it take longer than the shutdown timeout of the settings: a
// client that does not send the rest of its request gets an error, and one that does not
// read its response is cut off. Neither is an error of Shutdown. It returns an error if the
// node had to abort a request that it had not finished, or if something could not be closed.
func (n *Node) Shutdown(ctx context.Context) error {
	n.phase.set(draining)
	timeout := n.settings.ShutdownTimeout
	end := clock.Deadline(timeout)
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), end)
	defer cancel()
	delay := min(drainDelay, timeout/10)
	<-time.After(delay)
	// A client that connected at the end of the delay has as long to send a request.
	defer time.AfterFunc(delay, func() { n.listeners.apiConns.CloseNew(); n.listeners.adminConns.CloseNew() }).Stop()

	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = n.api.Shutdown(ctx) // closedBy and idleBy below find out whether it was in time
	}()
	step := min(shutdownReserve, timeout/5) / 4
	var errs []error
	if !closedBy(ctx, ended, end.Add(-4*step)) {
		n.listeners.apiConns.StopReads()
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
	// A scrape of the metrics may finish, but only within a short time.
	ctx, cancel = context.WithTimeout(ctx, min(delay, step))
	defer cancel()
	if n.admin.Shutdown(ctx) != nil {
		n.listeners.adminConns.CloseConns()
		_ = n.admin.Close()
	}
	// A client that is still sending has had its answer at least since the API's shutdown.
	n.listeners.apiConns.Settle(ctx)
	n.log.InfoContext(ctx, "stopped")
	return errors.Join(errs...)
}

// closedBy waits until a channel is closed, or until the given moment. It reports whether
// the channel was closed.
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

// abandon closes a node whose data could not be loaded. It drops its own errors, because
// the caller reports why loading failed.
func (n *Node) abandon(ctx context.Context) {
	_ = n.api.Close()
	_ = n.close(ctx)
	_ = n.admin.Close()
}

// close closes everything that load opened, in reverse order. It may be called on a node
// that is only partly loaded.
func (n *Node) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout-storeReserve)
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
	n.backupChecks.close()
	n.levelChecks.close()
	n.auditChecks.close()
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
