package server

import (
	"context"
	"net"
	"strconv"
	"time"

	"petcat/internal/clock"
)

// tellSupervisor tells systemd, or whatever else set NOTIFY_SOCKET, how the node is:
// see sd_notify(3). A state that cannot be sent is no reason to stop.
func (n *Node) tellSupervisor(ctx context.Context, state string) {
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

// feedWatchdog tells the supervisor that the process does not hang, if it asks for that.
func (n *Node) feedWatchdog() {
	if micros, err := strconv.ParseInt(n.Environ["WATCHDOG_USEC"], 10, 64); err == nil && micros > 0 {
		n.every(time.Duration(micros)*time.Microsecond/3, func(ctx context.Context) { n.tellSupervisor(ctx, "WATCHDOG=1") })
	}
}
