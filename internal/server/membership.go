package server

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"petcat"
)

// beatInterval is how often a node tells the database its state, and asks which nodes run.
const beatInterval = 2 * time.Second

// labelled is told the node's label, when it is known and when it changes.
type labelled interface{ SetNode(label string) }

// membership knows which nodes run. While the database is unavailable, its last answer
// holds.
type membership struct {
	store  petcat.NodeStore
	state  func() string
	logger *slog.Logger
	told   []labelled
	self   petcat.Node

	mu    sync.Mutex
	nodes []petcat.Node // all that run; guarded by mu
}

// joinNodes tells the database of this node, and goes on to do so until the node closes.
func (n *Node) joinNodes(ctx context.Context) error {
	self := petcat.Node{ID: n.id, Label: n.settings.Label(), Version: n.version}
	n.membership = newMembership(self, n.backend, n.state, n.log.Logger, n.log, n.metrics)
	n.membership.beat(ctx)
	n.every(func() time.Duration { return beatInterval }, n.membership.beat)
	n.onClose(func(ctx context.Context) error {
		_ = n.backend.Leave(ctx, n.id) // if it fails, the others notice that the beats end
		return nil
	})
	return nil
}

func newMembership(self petcat.Node, store petcat.NodeStore, state func() string, logger *slog.Logger, told ...labelled) *membership {
	m := &membership{store: store, state: state, logger: logger, told: told, self: self, nodes: []petcat.Node{self}}
	m.label(self.Label)
	return m
}

// beat tells the database the node's state, and learns which others run and whether this
// one is drained.
func (m *membership) beat(ctx context.Context) {
	before, was := m.current(), m.own()
	if !m.send(ctx) {
		return // the feed of the keyring logs that the database is unavailable
	}
	own := m.own()
	if own.Label != was.Label {
		m.label(own.Label)
	}
	if own.Drained != was.Drained {
		m.logger.InfoContext(ctx, "node drained or resumed", "drained", own.Drained)
		m.send(ctx) // its state changed
	}
	if now := m.current(); len(now) != len(before) {
		m.logger.InfoContext(ctx, "the number of nodes changed", "before", len(before), "now", len(now))
	}
}

func (m *membership) label(label string) {
	for _, l := range m.told {
		l.SetNode(label)
	}
}

func (m *membership) send(ctx context.Context) bool {
	self := m.self
	self.State, self.Drained = m.state(), m.own().Drained
	nodes, err := m.store.Beat(ctx, self)
	if err != nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.nodes = nodes
	return true
}

// current returns the nodes that run, this one included.
func (m *membership) current() []petcat.Node {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.nodes
}

// own returns this node as the database knows it.
func (m *membership) own() petcat.Node {
	nodes := m.current()
	i := slices.IndexFunc(nodes, func(n petcat.Node) bool { return n.ID == m.self.ID })
	if i < 0 {
		return m.self
	}
	return nodes[i]
}
