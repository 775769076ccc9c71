package server

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"petcat/internal/clock"
	"petcat/internal/clusterlimit"
	"petcat/internal/counters"
)

// serves is how long after its last beat a node still counts as serving. Nodes beat at
// least every two seconds.
const serves = 10 * time.Second

// membership knows which nodes serve. It learns that from the registry that they share;
// while the registry is unavailable, its last answer holds.
type membership struct {
	membershipOptions

	registry registry // nil: this is the only node
	told     atomic.Pointer[clusterlimit.Membership]
	cutOff   atomic.Pointer[func() uint64] // nil: there are no counters to reach
	live     atomic.Int64

	beats *periodic // nil without a registry
}

type membershipOptions struct {
	id     string // this node's
	clock  clock.Clock
	logger *slog.Logger
	// countsAlone says that this node's limiter counts in memory, so that no other node
	// may serve.
	countsAlone bool
}

// startMembership asks the registry for the nodes, and goes on to do so until close. If r is
// nil, there is only this node.
func startMembership(ctx context.Context, r registry, o membershipOptions) *membership {
	m := &membership{membershipOptions: o, registry: r}
	m.live.Store(1)
	m.told.Store(&clusterlimit.Membership{Self: m.id})
	if m.registry == nil {
		return m
	}
	// Until the registry answers, this node has no share of any quota: another node may
	// have joined before it.
	m.told.Store(&clusterlimit.Membership{Self: m.id, Members: []counters.Member{{Joined: time.Hour}}})
	m.beat(context.WithoutCancel(ctx))
	m.beats = startPeriodic(ctx, m.untilBeat, m.beat)
	return m
}

// beat tells the registry that this node serves, and learns which others do.
func (m *membership) beat(ctx context.Context) {
	members, err := m.registry.Beat(ctx, m.id, m.unreachable())
	if err != nil {
		return // the follower of the change log asks more often, and logs that the database is unavailable
	}
	m.told.Store(&clusterlimit.Membership{ReadAt: m.clock.Read().Mono, Self: m.id, Members: members})
	live := 0
	for _, member := range members {
		if member.Seen <= serves {
			live++
		}
	}
	before := m.live.Swap(int64(live))
	if before == int64(live) {
		return
	}
	m.logger.InfoContext(ctx, "the number of nodes changed", "before", before, "now", live)
	if m.countsAlone && live > 1 {
		m.logger.ErrorContext(ctx, "several nodes count in their own memory, so every account gets its minute quota from each node; give all nodes the same --limiter, or leave it out", "nodes", live)
	}
}

func (m *membership) untilBeat() time.Duration { return m.current().UntilHeartbeat(m.unreachable()) }

// unreachable returns which partitions of the counters this node cannot reach.
func (m *membership) unreachable() uint64 {
	if cutOff := m.cutOff.Load(); cutOff != nil {
		return (*cutOff)()
	}
	return 0
}

// count returns how many nodes serve, this one included.
func (m *membership) count() int { return int(m.live.Load()) }

// reportCutOff makes each beat from now on report which partitions of the counters this
// node cannot reach.
func (m *membership) reportCutOff(cutOff func() uint64) { m.cutOff.Store(&cutOff) }

// current returns the registry's last answer. It is no copy; do not change it.
func (m *membership) current() *clusterlimit.Membership { return m.told.Load() }

// close ends the beats, and tells the registry that this node no longer serves.
func (m *membership) close(ctx context.Context) {
	if m.registry == nil {
		return
	}
	m.beats.close()
	// A node that cannot reach the counters may have admitted requests of this minute by
	// itself. It does not leave, so that the others do not take over its share at once.
	if m.unreachable() == 0 {
		_ = m.registry.Leave(ctx, m.id) // if it fails, the others notice that the beats end
	}
}
