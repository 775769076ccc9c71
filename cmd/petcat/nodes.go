package main

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"petcat/internal/clock"
	"petcat/internal/clusterlimit"
	"petcat/internal/counters"
	"petcat/internal/postgres"
)

// nodes knows which nodes serve, as the database that they share tells. While it
// cannot tell, what it told last holds.
type nodes struct {
	self   string // this one's name
	clock  clock.Clock
	told   atomic.Pointer[clusterlimit.Membership]
	cutOff atomic.Pointer[func() uint64] // nil: there are no counters to reach
	live   atomic.Int64
	beat   func(ctx context.Context, cutOff uint64) ([]counters.Member, error)
	leave  func(ctx context.Context) error
	logger *slog.Logger
	// alone says that this node counts in its own memory, so that there must be
	// no others.
	alone bool

	stop    context.CancelFunc
	stopped chan struct{}
}

// startNodes counts the nodes for the first time, and goes on until close. Where
// there can be only one node, it does nothing.
func startNodes(ctx context.Context, b *backing, o opening) *nodes {
	n := &nodes{
		self: o.node, clock: o.clock, beat: b.beat, leave: b.leave, logger: o.logger, alone: o.settings.memory(), stopped: make(chan struct{}),
	}
	n.live.Store(1)
	n.told.Store(&clusterlimit.Membership{Self: n.self})
	ctx, n.stop = context.WithCancel(context.WithoutCancel(ctx))
	if n.beat == nil {
		close(n.stopped)
		return n
	}
	// Until it is told of the others, it has no share of anything: somebody may have
	// been there before.
	n.told.Store(&clusterlimit.Membership{Self: n.self, Members: []counters.Member{{Joined: time.Hour}}})
	n.ask(ctx)
	go n.run(ctx)
	return n
}

func (n *nodes) run(ctx context.Context) {
	defer close(n.stopped)
	ticker := time.NewTicker(postgres.NodeBeat)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			n.ask(ctx)
		}
	}
}

func (n *nodes) ask(ctx context.Context) {
	var cutOff uint64
	if reach := n.cutOff.Load(); reach != nil {
		cutOff = (*reach)()
	}
	members, err := n.beat(ctx, cutOff)
	if err != nil {
		return // the change log, which asks more often, has told the log
	}
	n.told.Store(clusterlimit.NewMembership(n.told.Load(), n.clock.Read().Mono, n.self, members))
	live := 0
	for _, m := range members {
		if m.Seen <= postgres.NodeServes {
			live++
		}
	}
	before := n.live.Swap(int64(live))
	if before == int64(live) {
		return
	}
	n.logger.InfoContext(ctx, "the number of nodes changed", "before", before, "now", live)
	if n.alone && live > 1 {
		n.logger.ErrorContext(ctx, "several nodes count requests each in its own memory, so that an account gets its quota of the minute from each; give all of them the same --limiter, or none", "nodes", live)
	}
}

// count returns how many nodes serve, this one included.
func (n *nodes) count() int { return int(n.live.Load()) }

// say makes the node tell the others with each beat from now on which partitions of
// the counters it cannot reach.
func (n *nodes) say(cutOff func() uint64) { n.cutOff.Store(&cutOff) }

// membership returns what was last told. It is no copy.
func (n *nodes) membership() *clusterlimit.Membership { return n.told.Load() }

// close says that this node no longer serves.
func (n *nodes) close(ctx context.Context) {
	n.stop()
	<-n.stopped
	// A node that admitted some of this minute by itself goes on to count for it.
	if reach := n.cutOff.Load(); n.leave != nil && (reach == nil || (*reach)() == 0) {
		_ = n.leave(ctx) // the others find out by its silence
	}
}
