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

// serves is how lately a node must have said that it serves to count: it says so every
// two seconds, or more often.
const serves = 10 * time.Second

// membership knows which nodes serve, as the registry that they share tells. While it
// cannot tell, what it told last holds.
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
	// countsAlone says that this node counts in its own memory, so that there must
	// be no others.
	countsAlone bool
}

// startMembership counts the nodes for the first time, and goes on until close. Where
// there can be only one node, it does nothing.
func startMembership(ctx context.Context, r registry, o membershipOptions) *membership {
	m := &membership{membershipOptions: o, registry: r}
	m.live.Store(1)
	m.told.Store(&clusterlimit.Membership{Self: m.id})
	if m.registry == nil {
		return m
	}
	// Until it is told of the others, it has no share of anything: somebody may have
	// been there before.
	m.told.Store(&clusterlimit.Membership{Self: m.id, Members: []counters.Member{{Joined: time.Hour}}})
	m.beat(context.WithoutCancel(ctx))
	m.beats = startPeriodic(ctx, m.untilBeat, m.beat)
	return m
}

// beat says that this node serves, and learns who else does.
func (m *membership) beat(ctx context.Context) {
	members, err := m.registry.Beat(ctx, m.id, m.unreachable())
	if err != nil {
		return // the change log, which asks more often, has told the log
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

// reportCutOff makes the node tell the others with each beat from now on which
// partitions of the counters it cannot reach.
func (m *membership) reportCutOff(cutOff func() uint64) { m.cutOff.Store(&cutOff) }

// current returns what was last told. It is no copy.
func (m *membership) current() *clusterlimit.Membership { return m.told.Load() }

// close says that this node no longer serves.
func (m *membership) close(ctx context.Context) {
	if m.registry == nil {
		return
	}
	m.beats.close()
	// A node that admitted some of this minute by itself goes on to count for it.
	if m.unreachable() == 0 {
		_ = m.registry.Leave(ctx, m.id) // the others find out by its silence
	}
}
