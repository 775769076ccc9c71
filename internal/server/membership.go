package server

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"petcat"
	"petcat/internal/clock"
)

// beatInterval is how often a node records that it serves. After five times as long without
// a beat it no longer counts as serving.
const beatInterval = 2 * time.Second

// registry is where nodes find each other.
type registry interface {
	// Beat records that a node serves. It returns all nodes that do.
	Beat(ctx context.Context, node string) ([]petcat.Node, error)
	// Leave records that a node no longer serves.
	Leave(ctx context.Context, node string) error
}

// membership knows which nodes serve. While the registry is unavailable, its last answer
// holds.
type membership struct {
	id       string // of this node
	registry registry
	clock    clock.Clock
	logger   *slog.Logger
	last     atomic.Pointer[members]
}

// members are the nodes that serve, this one included.
type members struct {
	nodes  []petcat.Node
	readAt clock.Reading
}

// joinNodes lets the other nodes know of this one, if there can be others.
func (n *Node) joinNodes(ctx context.Context) error {
	m := &membership{id: n.id, registry: n.backend.registry, clock: n.clock, logger: n.log.Logger}
	m.last.Store(&members{nodes: []petcat.Node{{ID: n.id}}, readAt: n.clock.Read()})
	n.membership = m
	if m.registry == nil {
		return nil
	}
	m.beat(ctx)
	n.every(func() time.Duration { return beatInterval }, m.beat)
	n.onClose(func(ctx context.Context) error {
		_ = m.registry.Leave(ctx, m.id) // if it fails, the others notice that the beats end
		return nil
	})
	return nil
}

// beat records that this node serves, and learns which others do.
func (m *membership) beat(ctx context.Context) {
	nodes, err := m.registry.Beat(ctx, m.id)
	if err != nil {
		return // the keyring logs that the database is unavailable
	}
	before := m.last.Swap(&members{nodes, m.clock.Read()})
	if len(before.nodes) != len(nodes) {
		m.logger.InfoContext(ctx, "the number of nodes changed", "before", len(before.nodes), "now", len(nodes))
	}
}
