package clusterlimit

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"petcat"
	"petcat/internal/groupcommit"
)

// partition is a part of the accounts whose counters are lost and found together.
type partition struct {
	l      *Limiter
	number int
	clock  countersClock
	calls  *groupcommit.Committer[*pendingCharge]
	state  atomic.Pointer[state] // changed by change alone
	soon   chan struct{}         // capacity 1: probe now

	mu         sync.Mutex
	unreported map[petcat.AccountID]struct{} // have something to report; guarded by mu
}

// startTimeout is how long a node that starts waits for the counters.
const startTimeout = time.Second

func newPartitions(l *Limiter) []*partition {
	partitions := make([]*partition, l.options.Counters.Partitions())
	for i := range partitions {
		p := &partition{
			l: l, number: i, clock: countersClock{source: l.options.Clock}, soon: make(chan struct{}, 1),
			unreported: make(map[petcat.AccountID]struct{}),
		}
		p.state.Store(new(newState(p.clock.Read().Mono)))
		p.calls = p.newCalls(len(partitions))
		partitions[i] = p
	}
	return partitions
}

// change replaces the state by the one that fn makes of it.
func (p *partition) change(fn func(state) state) {
	for {
		if old := p.state.Load(); p.state.CompareAndSwap(old, new(fn(*old))) {
			return
		}
	}
}

// view returns on what the decision of a request depends.
func (p *partition) view(perMinute int64) view {
	t := p.clock.Read()
	return newView(*p.state.Load(), p.l.options.Membership(), p.number, t.Mono, t.Wall, perMinute)
}

// late takes note of a call that was not answered in time, and why.
func (p *partition) late(err error) {
	p.l.failures.Add(1)
	p.l.why.Store(&err)
	p.change(func(s state) state { return s.late(p.clock.Read().Mono) })
	select {
	case p.soon <- struct{}{}:
	default:
	}
}

// run probes the counters until the limiter closes.
func (p *partition) run() {
	for {
		mono := p.clock.Read().Mono
		select {
		case <-p.l.stopping:
			return
		case <-time.After(p.state.Load().untilProbe(mono)):
		case <-p.soon:
		}
		p.probe(p.l.lifetime, p.l.options.timeout)
		p.flush(p.l.lifetime)
	}
}

// probe asks whether the counters are there, and which epoch holds.
func (p *partition) probe(ctx context.Context, timeout time.Duration) {
	asked := p.clock.Read().Mono
	ctx, stop := p.l.stopwatch.within(ctx, p.l.stopwatch.Read(), timeout)
	defer stop()
	epoch, now, err := p.l.options.Counters.Probe(ctx, p.number)
	mono := p.clock.Read().Mono
	if err != nil {
		p.l.why.Store(&err)
		p.change(func(s state) state { return s.unanswered(mono) })
		return
	}
	p.clock.observe(now, asked)
	p.mu.Lock()
	reported := len(p.unreported) == 0
	p.mu.Unlock()
	p.change(func(s state) state { return s.answered(mono, epoch, reported) })
}

// report takes note of an account that has something to report.
func (p *partition) report(id petcat.AccountID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unreported[id] = struct{}{}
}

// flush reports what this node admitted by itself, while the counters answer.
func (p *partition) flush(ctx context.Context) {
	for s := p.state.Load(); s.mode != open && s.lost == 0; s = p.state.Load() {
		ids := p.takeUnreported()
		if len(ids) == 0 {
			return
		}
		p.reportAll(ctx, ids)
	}
}

// takeUnreported takes as many accounts that have something to report as make one call.
func (p *partition) takeUnreported() (ids []petcat.AccountID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.unreported {
		if len(ids) == requestsInCall {
			break
		}
		delete(p.unreported, id)
		ids = append(ids, id)
	}
	return ids
}

// tell tells the log when the first partition is lost and when all are found.
func (l *Limiter) tell() {
	before, lost := l.lost, l.CutOff() != 0
	l.lost = lost
	switch {
	case lost && !before:
		l.options.Logger.Error("the shared counters are unavailable: this node admits its share of each quota", "error", *l.why.Load())
	case before && !lost:
		l.options.Logger.Info("the shared counters are available again: the nodes count together")
	}
}

// release gives back what was leased of days to decide locally, if this node has decided
// something since it last did so, and now the counters decide: for single late calls, too.
func (l *Limiter) release() {
	if local := l.local.Load(); local != l.released && l.CutOff() == 0 {
		l.released = local
		l.memory.Release()
	}
}

// CutOff returns which partitions this node cannot reach, one bit each.
func (l *Limiter) CutOff() (partitions uint64) {
	for i, p := range l.partitions {
		if p.state.Load().mode != closed {
			partitions |= 1 << i
		}
	}
	return partitions
}
