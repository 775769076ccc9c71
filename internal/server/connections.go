package server

import (
	"context"
	"log/slog"
	"time"

	"petcat/internal/metrics"
	"petcat/internal/socket"
)

const (
	// maxUnproven is how many connections that have shown no valid key for
	// unprovenGrace an address may have.
	maxUnproven   = 100
	unprovenGrace = time.Second
	// maxRefused is how many requests a second are answered on a connection that show no
	// valid key, or are beyond its limits.
	maxRefused = 100
	// maxWasted is how many connections an address may end without an answer to a
	// valid key, and wastedPerSecond how many again with each second. A handshake of
	// TLS takes half a millisecond of a processor: with 5, 20 addresses that waste
	// connections for ever take a twentieth of one.
	maxWasted       = 200
	wastedPerSecond = 5
	// maxAdminConnections is far above what scrapers and probes open.
	maxAdminConnections = 32
	// mostConnections bounds the memory of a process that may open any number of
	// files. A connection that rests takes some 10 KB, with TLS some 50 KB.
	mostConnections = 16_384
	// reservedFiles is what the rest of the process may have open: the admin
	// listener, the database's files or connections, the log.
	reservedFiles = 64
)

// maxConnections returns how many connections the API may have, so that the rest
// of the process never lacks a descriptor.
func maxConnections() int {
	limit := fileLimit()
	return int(max(16, min(mostConnections, limit-limit/8-reservedFiles)))
}

// connectionsInterval is how often it is looked whether connections were dropped, and
// connectionsPause how long the log is silent about it after a warning.
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
				"open", s.Open, "without_valid_key", s.Unproven, "addresses_refused", s.Shut, "closed", s.Dropped-told.Dropped, "accept_failures", s.Failures-told.Failures)
			told, warned = s, now
		}
	}
}

// registerConnections adds the API's connections to the metrics.
func registerConnections(m *metrics.Metrics, conns *socket.Listener) {
	m.Gauge("petcat_connections", "Open connections of the API.", func() float64 { return float64(conns.Stats().Open) })
	m.Gauge("petcat_connections_without_key", "Open connections of the API on which no valid key has come.", func() float64 { return float64(conns.Stats().Unproven) })
	m.Gauge("petcat_addresses_refused", "Addresses whose new connections are refused for now, because too many of theirs ended without a valid key.", func() float64 { return float64(conns.Stats().Shut) })
	m.Counter("petcat_connections_dropped_total", "Connections that were closed because there were too many, of one address without a valid key or of all.", func() float64 {
		return float64(conns.Stats().Dropped)
	})
	m.Counter("petcat_accept_failures_total", "Connections that could not be accepted, mostly for want of file descriptors.", func() float64 {
		return float64(conns.Stats().Failures)
	})
}
