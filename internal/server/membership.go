package server

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"petcat"
	"petcat/internal/clock"
)

// beatInterval is how often a node records that it serves. After five times as long without
// a beat it no longer counts as serving.
const beatInterval = 2 * time.Second

// membership knows which nodes serve. It learns that from the registry that they share;
// while the registry is unavailable, its last answer holds.
type membership struct {
	id       string   // of this node
	registry registry // nil: this is the only node
	clock    clock.Clock
	logger   *slog.Logger
	beats    *periodic // nil without a registry

	mu     sync.Mutex
	nodes  []petcat.Node // guarded by mu
	readAt clock.Reading // guarded by mu
}

// startMembership asks the registry for the nodes, and goes on to do so until close. If r is
// nil, there is only this node.
func startMembership(ctx context.Context, r registry, id string, c clock.Clock, logger *slog.Logger) *membership {
	m := &membership{id: id, registry: r, clock: c, logger: logger, nodes: []petcat.Node{{ID: id}}, readAt: c.Read()}
	if r != nil {
		m.beat(context.WithoutCancel(ctx))
		m.beats = startPeriodic(ctx, func() time.Duration { return beatInterval }, m.beat)
	}
	return m
}

// beat records that this node serves, and learns which others do.
func (m *membership) beat(ctx context.Context) {
	nodes, err := m.registry.Beat(ctx, m.id)
	if err != nil {
		return // the follower of the change log logs that the database is unavailable
	}
	m.mu.Lock()
	before := len(m.nodes)
	m.nodes, m.readAt = nodes, m.clock.Read()
	m.mu.Unlock()
	if before != len(nodes) {
		m.logger.InfoContext(ctx, "the number of nodes changed", "before", before, "now", len(nodes))
	}
}

// current returns the nodes that serve, this one included, and when that was read.
func (m *membership) current() ([]petcat.Node, clock.Reading) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.nodes, m.readAt
}

// close ends the beats, and records that this node no longer serves.
func (m *membership) close(ctx context.Context) {
	if m.registry != nil {
		m.beats.close()
		_ = m.registry.Leave(ctx, m.id) // if it fails, the others notice that the beats end
	}
}
