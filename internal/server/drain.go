package server

import (
	"context"
	"errors"
	"net"
	"strconv"
	"time"

	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/postgres"
)

const (
	// drainDelay is the time between the 503 of /readyz and the end of new connections, so that
	// a proxy that polls every second notices first. It is at most a tenth of the shutdown
	// timeout.
	drainDelay = time.Second
	// closeTimeout is the time to write buffered data after the shutdown timeout. If PostgreSQL
	// hangs, closing takes 4 s longer.
	closeTimeout = 5 * time.Second
	// failedTimeout is the time to write usage to a store that failed. After a failover it takes
	// milliseconds; in other cases it never succeeds.
	failedTimeout = 2 * time.Second
)

// Shutdown drains and stops the node, even if ctx is canceled. First /readyz reports that the node is
// draining, then the node stops accepting connections, on the admin listener last. Requests in flight
// are cut off at the shutdown timeout. Shutdown returns an error if a part could not be closed.
func (n *Node) Shutdown(ctx context.Context) error {
	n.state.draining.Store(true)
	n.notifySupervisor(context.WithoutCancel(ctx), "STOPPING=1")
	timeout := n.Settings.ShutdownTimeout
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	if !errors.Is(n.data.db.Err(), postgres.ErrHistory) { // else Run has closed the API
		<-time.After(min(drainDelay, timeout/10))
	}
	if n.api.Shutdown(limited) != nil {
		if left := n.inFlight.Load(); left > 0 {
			n.Log.WarnContext(ctx, "requests cut off at --shutdown-timeout", "requests", left, "timeout", timeout)
		}
		_ = n.api.Close()
	}
	// Until here, /readyz shows the drain. Operators' requests in flight need the data.
	if n.admin.Shutdown(limited) != nil {
		_ = n.admin.Close()
	}
	err := n.lifetime.close(ctx)
	n.Log.InfoContext(ctx, "stopped")
	return err
}

// notifySupervisor sends a state to systemd, or to another supervisor that set NOTIFY_SOCKET; see
// sd_notify(3). Failures are ignored.
func (b base) notifySupervisor(ctx context.Context, state string) {
	socket := b.Environ["NOTIFY_SOCKET"]
	if socket == "" {
		return
	}
	if conn, err := new(net.Dialer).DialContext(ctx, "unixgram", socket); err == nil {
		_ = conn.SetWriteDeadline(clock.Deadline(time.Second)) // the supervisor may hang
		_, _ = conn.Write([]byte(state))
		_ = conn.Close()
	}
}

// feedWatchdog notifies the supervisor three times per watchdog period, if it set WATCHDOG_USEC. The
// supervisor restarts a process that stops sending notifications.
func (b base) feedWatchdog() {
	micros, err := strconv.ParseInt(b.Environ["WATCHDOG_USEC"], 10, 64)
	if err != nil || micros <= 0 {
		return
	}
	period := time.Duration(micros) * time.Microsecond
	b.lifetime.every(period/3, func(ctx context.Context) {
		b.notifySupervisor(ctx, "WATCHDOG=1")
	})
}
