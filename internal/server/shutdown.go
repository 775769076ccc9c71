package server

import (
	"context"
	"errors"
	"slices"
	"time"
)

const (
	// drainDelay is how long a node that stops still accepts connections after /readyz
	// says that it drains, so that a proxy that asks every second notices first. It is at
	// most a tenth of the shutdown timeout.
	drainDelay = time.Second
	// adminTimeout is how long a scrape of the metrics may take to finish.
	adminTimeout = time.Second
	// closeTimeout bounds how long a node that stops writes what it still has in memory, and
	// closes the store. It is not part of the shutdown timeout.
	closeTimeout = 10 * time.Second
	// storeReserve is how much of closeTimeout is kept for closing the store: a PostgreSQL
	// that hangs is waited for twice, for the writer's connection and for the pool's, 2 s each.
	storeReserve = 4 * time.Second
)

// Shutdown drains and stops the node, even if ctx has ended: /readyz says that the node
// drains, and after a beat no connections are accepted any more. Requests in flight may
// finish within the shutdown timeout of the settings; then they are cut off. It returns an
// error if something could not be closed.
func (n *Node) Shutdown(ctx context.Context) error {
	n.health.phase.Store(draining)
	timeout := n.settings.ShutdownTimeout
	ctx = context.WithoutCancel(ctx)
	drained, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	<-time.After(min(drainDelay, timeout/10))
	if n.api.Shutdown(drained) != nil {
		if left := n.handler.running.Load(); left > 0 {
			n.log.WarnContext(ctx, "requests were cut off: --shutdown-timeout was over", "requests", left, "timeout", timeout)
		}
		_ = n.api.Close()
	}
	err := n.close(ctx)
	scraped, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	if n.admin.Shutdown(scraped) != nil {
		_ = n.admin.Close()
	}
	n.log.InfoContext(ctx, "stopped")
	return err
}

// abandon closes a node whose data could not be loaded. It drops its own errors, because
// the caller reports why loading failed.
func (n *Node) abandon(ctx context.Context) {
	_ = n.api.Close()
	_ = n.close(ctx)
	_ = n.admin.Close()
}

// close ends what runs in the background, and closes what load opened, the last first. It
// may be called on a node that is only partly loaded.
func (n *Node) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout-storeReserve)
	defer cancel()
	n.stop()
	n.running.Wait()
	var errs []error
	for _, fn := range slices.Backward(n.closers) {
		errs = append(errs, fn(ctx))
	}
	return errors.Join(errs...)
}
