package main

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"petcat/internal/postgres"
)

// nodes knows how many nodes serve, as the database that they share tells. While
// it cannot tell, what it told last holds.
type nodes struct {
	live   atomic.Int64
	beat   func(ctx context.Context) (live int, err error)
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
func startNodes(ctx context.Context, b *backing, logger *slog.Logger, alone bool) *nodes {
	n := &nodes{beat: b.beat, leave: b.leave, logger: logger, alone: alone, stopped: make(chan struct{})}
	n.live.Store(1)
	ctx, n.stop = context.WithCancel(context.WithoutCancel(ctx))
	if n.beat == nil {
		close(n.stopped)
		return n
	}
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
	live, err := n.beat(ctx)
	if err != nil {
		return // the change log, which asks more often, has told the log
	}
	before := n.live.Swap(int64(live))
	if before == int64(live) {
		return
	}
	n.logger.InfoContext(ctx, "the number of nodes changed", "before", before, "now", live)
	if n.alone && live > 1 {
		n.logger.ErrorContext(ctx, "several nodes count requests each in its own memory, so that an account gets its quota of the minute from each; give all of them the same --limiter redis://…", "nodes", live)
	}
}

// count returns how many nodes serve, this one included.
func (n *nodes) count() int { return int(n.live.Load()) }

// close says that this node no longer serves.
func (n *nodes) close(ctx context.Context) {
	n.stop()
	<-n.stopped
	if n.leave != nil {
		_ = n.leave(ctx) // the others find out by its silence
	}
}
