package server

import (
	"context"
	"log/slog"
	"time"

	"petcat/internal/metrics"
	"petcat/internal/socket"
)

const (
	// maxUnauthenticated is how many connections an address may have on which no valid key
	// has come within unauthenticatedGrace.
	maxUnauthenticated   = 100
	unauthenticatedGrace = time.Second
	// maxRefused is how many refused requests a second are answered on a connection:
	// requests without a valid key, or beyond the account's limits.
	maxRefused = 100
	// maxWasted is how many connections an address may end on which no request with a
	// valid key was answered; wastedPerSecond more are allowed each second. A TLS
	// handshake takes half a millisecond of a processor: with 5 a second, 20 addresses
	// take a twentieth of one processor.
	maxWasted       = 200
	wastedPerSecond = 5
	// maxAdminConnections is far above what scrapers and probes open.
	maxAdminConnections = 32
	// mostConnections bounds the memory of connections where the limit of open files
	// does not. An idle connection takes some 10 KB, with TLS some 50 KB.
	mostConnections = 16_384
	// reservedFiles is how many files the rest of the process may have open: the admin
	// listener, the database's files or connections, the log.
	reservedFiles = 64
)

// maxConnections returns how many connections the API may have, so that the rest
// of the process never runs out of file descriptors.
func maxConnections() int {
	limit := fileLimit()
	return int(max(16, min(mostConnections, limit-limit/8-reservedFiles)))
}

// connectionsInterval is how often a node checks whether connections were dropped, and
// connectionsPause how long it waits after a warning before it logs the next one.
const (
	connectionsInterval = time.Second
	connectionsPause    = time.Minute
)

// warnOfDroppedConnections warns, once a minute at most, while connections are dropped or
// cannot be accepted. It returns when ctx ends.
func warnOfDroppedConnections(ctx context.Context, logger *slog.Logger, conns *socket.Listener) {
	look := time.NewTicker(connectionsInterval)
	defer look.Stop()
	var told socket.Stats
	var warned time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-look.C:
			s := conns.Stats()
			if s.Dropped == told.Dropped && s.Failures == told.Failures || now.Sub(warned) < connectionsPause {
				continue
			}
			logger.Warn("connections were closed because there were too many, or could not be accepted; see Limits of the sockets in docs/operations.md",
				"open", s.Open, "without_valid_key", s.Unauthenticated, "addresses_refused", s.Shut, "closed", s.Dropped-told.Dropped, "accept_failures", s.Failures-told.Failures)
			told, warned = s, now
		}
	}
}

// registerConnections adds the API's connections to the metrics.
func registerConnections(m *metrics.Metrics, conns *socket.Listener) {
	m.Gauge("petcat_connections", "Open connections of the API.", func() float64 { return float64(conns.Stats().Open) })
	m.Gauge("petcat_connections_without_key", "Open connections of the API on which no valid key has come.", func() float64 { return float64(conns.Stats().Unauthenticated) })
	m.Gauge("petcat_addresses_refused", "Addresses whose new connections are refused for now, because too many of theirs ended without a valid key.", func() float64 { return float64(conns.Stats().Shut) })
	m.Counter("petcat_connections_dropped_total", "Connections that were closed because there were too many, of one address without a valid key or of all.", func() float64 {
		return float64(conns.Stats().Dropped)
	})
	m.Counter("petcat_accept_failures_total", "Connections that could not be accepted, mostly for want of file descriptors.", func() float64 {
		return float64(conns.Stats().Failures)
	})
}
