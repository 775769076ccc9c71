package server

import (
	"context"
	"errors"
	"net"
	"slices"
	"time"

	"petcat/internal/clock"
)

const (
	// drainDelay is how long a node that stops still accepts connections after /readyz
	// says that it drains, so that a proxy that asks every second notices first. It is at
	// most a tenth of the shutdown timeout.
	drainDelay = time.Second
	// closeTimeout bounds how long a node that stops writes what it still has in memory. It
	// is not part of the shutdown timeout. A PostgreSQL that hangs is waited for 4 s more.
	closeTimeout = 5 * time.Second
)

// Shutdown drains and stops the node, even if ctx has ended: /readyz says that the node
// drains, and after a beat no connections are accepted any more. Requests in flight may
// finish within the shutdown timeout of the settings; then they are cut off. It returns an
// error if something could not be closed.
func (n *Node) Shutdown(ctx context.Context) error {
	n.draining.Store(true)
	n.notifySupervisor(context.WithoutCancel(ctx), "STOPPING=1")
	timeout := n.Settings.ShutdownTimeout
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	<-time.After(min(drainDelay, timeout/10))
	if n.api.Shutdown(limited) != nil {
		if left := n.inFlight.Load(); left > 0 {
			n.Log.WarnContext(ctx, "requests were cut off: --shutdown-timeout was over", "requests", left, "timeout", timeout)
		}
		_ = n.api.Close()
	}
	err := n.close(ctx)
	n.Log.InfoContext(ctx, "stopped")
	return err
}

// close ends what runs in the background, and closes what the steps of Start opened, the
// last first. It may be called after any of them.
func (n *Node) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	n.stop()
	n.running.Wait()
	var errs []error
	for _, fn := range slices.Backward(n.closers) {
		errs = append(errs, fn(ctx))
	}
	return errors.Join(errs...)
}

// notifySupervisor sends a state to systemd, or to another supervisor that set NOTIFY_SOCKET; see
// sd_notify(3). Failures are ignored.
func (n *Node) notifySupervisor(ctx context.Context, state string) {
	socket := n.Environ["NOTIFY_SOCKET"]
	if socket == "" {
		return
	}
	if conn, err := new(net.Dialer).DialContext(ctx, "unixgram", socket); err == nil {
		_ = conn.SetWriteDeadline(clock.Deadline(time.Second)) // the supervisor may hang
		_, _ = conn.Write([]byte(state))
		_ = conn.Close()
	}
}
