package clusterlimit

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/counters"
	"petcat/internal/ratelimit"
)

// Options of a [Limiter].
type Options struct {
	Counters counters.Counters
	Clock    clock.Clock
	Days     petcat.DayStore
	Bans     petcat.BanMode // "" is EnforceBans
	// Banned is told of every ban that this node imposes; see [ratelimit.Options].
	Banned func(petcat.Ban)
	// Membership returns which nodes serve, as last read. It is called on a request's
	// way. Nil: this one alone.
	Membership func() *Membership
	// Observe is told how long a request waited for the counters, which decided it; if it
	// needed a lease, after that. It may be nil.
	Observe func(time.Duration)
	Logger  *slog.Logger // nil discards

	timeout time.Duration // how long a request waits for the counters; 0 as usual; for tests
}

// Limiter is the limiter of several nodes.
type Limiter struct {
	options    Options
	name       string // tells this node from the others
	stopwatch  *stopwatch
	memory     *ratelimit.Memory // the days of what this node admits by itself, and all bans
	accounts   accounts
	partitions []*partition
	leaser     *leaser
	why        atomic.Pointer[error] // the last call failed

	shared, local, failures atomic.Int64 // as in Stats

	// Of everySecond alone.
	lost     bool  // some counters are unavailable, as the log was told last
	released int64 // of local: how many there were at the last release

	stopping   chan struct{} // closed by Close
	stop       sync.Once
	background sync.WaitGroup
	lifetime   context.Context //nolint:containedctx // of the background: ends when Close gives up waiting
	giveUp     context.CancelFunc
}

var _ ratelimit.Limiter = (*Limiter)(nil)

// timeout is how long a request waits for the counters, on a node with a share: some fifty
// times what an answer takes in a data centre.
const timeout = 50 * time.Millisecond

// New returns a running limiter. Close stops it. Counters that do not answer are no
// error: this node admits its share until they do.
func New(ctx context.Context, o Options) *Limiter {
	o.defaults()
	l := &Limiter{
		options: o, name: rand.Text(), stopwatch: newStopwatch(clock.NewSystem(), o.timeout), stopping: make(chan struct{}),
	}
	l.lifetime, l.giveUp = context.WithCancel(context.WithoutCancel(ctx))
	l.leaser = &leaser{l: l, wake: make(chan struct{}, 1), retry: time.Tick(ratelimit.StoreRetry), jobs: make(map[petcat.AccountID]*job)}
	l.partitions = newPartitions(l)
	var first sync.WaitGroup
	for _, p := range l.partitions {
		first.Go(func() { p.probe(ctx, startTimeout) })
	}
	first.Wait()
	// Bans and days are counted by the counters' time, once it is known.
	l.memory = ratelimit.NewMemory(ratelimit.Options{
		Clock: ratelimit.NewClock(&l.partitions[0].clock), Days: o.Days, Bans: o.Bans, Banned: o.Banned, Logger: o.Logger,
	})
	for _, p := range l.partitions {
		l.background.Go(p.run)
	}
	for range leasesAtOnce {
		l.background.Go(l.leaser.run)
	}
	l.background.Go(func() { l.every(retriesEvery, l.everySecond) })
	l.background.Go(func() { l.every(sweepEvery, l.sweepAll) })
	return l
}

// every calls fn every so often until the limiter closes.
func (l *Limiter) every(d time.Duration, fn func()) {
	tick := time.Tick(d)
	for {
		select {
		case <-l.stopping:
			return
		case <-tick:
			fn()
		}
	}
}

func (o *Options) defaults() {
	if o.Membership == nil {
		alone := &Membership{}
		o.Membership = func() *Membership { return alone }
	}
	if o.Observe == nil {
		o.Observe = func(time.Duration) {}
	}
	o.timeout = cmp.Or(o.timeout, timeout)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
}

// Spend implements [ratelimit.Limiter].
func (l *Limiter) Spend(ctx context.Context, c ratelimit.Charge) (ratelimit.Decision, error) {
	return (&request{l: l, p: l.partitionOf(c.Account), Charge: c, since: l.stopwatch.Read()}).spend(ctx)
}

func (l *Limiter) partitionOf(id petcat.AccountID) *partition {
	return l.partitions[counters.PartitionOf(id, len(l.partitions))]
}

// request is one request on its way to a decision.
type request struct {
	ratelimit.Charge

	l     *Limiter
	p     *partition
	taken int64         // the minute of whose budget one was taken; 0: none was
	since clock.Reading // of the stopwatch: its wait for the counters began, which lasts as long as the partition says at most

	timeout <-chan time.Time // of its wait for a block of the day; nil until it waits
	overdue bool             // it has waited for so long
	daySent bool             // the counters of this epoch were told what this node knows of the day
}

func (r *request) spend(ctx context.Context) (ratelimit.Decision, error) {
	// A new epoch changes the way at most once; who meets another is decided locally.
	for range 2 {
		v := r.p.view(r.Quota.PerMinute)
		if end := r.l.memory.BanEnd(r.Account, r.Key, v.now); end != 0 {
			return r.banned(ctx, v, end), nil
		}
		way, used := r.choose(v)
		switch way {
		case refuse:
			return r.l.memory.Refuse(r.Charge, used, used.Verdict()), nil
		case refuseByShare:
			return shareSpent(used, r.Key), nil
		case admitLocally:
			return r.chargeDay(ctx, v, true)
		case ask, askWithin:
		}
		d, err := r.ask(ctx, v)
		if _, is := errors.AsType[*counters.WrongEpoch](err); !is {
			return d, err
		}
	}
	return r.decideLocally(ctx, false)
}

// with calls fn with the request's account, under its lock.
func (r *request) with(fn func(*account)) { r.l.accounts.with(r.Account, fn) }

// choose returns how the request is to be decided, and what is used.
func (r *request) choose(v view) (w way, used ratelimit.Usage) {
	r.with(func(a *account) {
		w, used = a.way(v, r.Quota), a.usage(v.now, r.Quota)
		if w == askWithin || w == admitLocally {
			r.taken = a.minute
		}
	})
	return w, used
}

func (r *request) usage(v view) (t ratelimit.Usage) {
	r.with(func(a *account) { t = a.usage(v.now, r.Quota) })
	return t
}

// shareSpent answers a request for which this node, or all who leave room for
// others, have nothing left of a quota that is not used up. That is not the caller's
// fault, and nobody is banned for it.
func shareSpent(used ratelimit.Usage, key petcat.KeyID) ratelimit.Decision {
	used.Part = ratelimit.PartOf(0)
	return used.Answer(used.Verdict(), key)
}

// decideLocally decides a request that the counters did not decide.
func (r *request) decideLocally(ctx context.Context, unknown bool) (ratelimit.Decision, error) {
	v := r.p.view(r.Quota.PerMinute)
	admitted := false
	r.with(func(a *account) {
		admitted = a.spendLocally(v, r.Quota.PerMinute, r.taken, unknown)
		r.taken = a.minute
	})
	if !admitted {
		return shareSpent(r.usage(v), r.Key), nil
	}
	return r.chargeDay(ctx, v, !unknown)
}

// chargeDay charges the day of a request for which one of the budget was taken.
func (r *request) chargeDay(ctx context.Context, v view, unreported bool) (ratelimit.Decision, error) {
	defer r.l.local.Add(1) // last: what it leases is released after it
	r.p.report(r.Account)
	c := r.Charge
	c.DayOnly = true
	d, err := r.l.memory.Spend(ctx, c)
	if err != nil && ctx.Err() == nil {
		// The store cannot tell the day. What was known last will do.
		if used, known := r.knownDay(v); known {
			r.l.memory.SetDayUsed(r.Account, dayOf(v.now), used)
			d, err = r.l.memory.Spend(ctx, c)
		}
	}
	if err != nil || d.Verdict != ratelimit.Admitted {
		r.with(func(a *account) { a.release(r.taken, unreported) })
		return d, err
	}
	var t ratelimit.Usage
	used := r.Quota.PerDay - d.Day.Remaining
	r.with(func(a *account) {
		a.dayCounted(v.now, used, r.Quota.PerDay)
		t = ratelimit.Usage{Now: v.now, Quota: r.Quota, Part: ratelimit.PartOf(a.budget), MinuteUsed: a.spent, DayUsed: used}
	})
	return t.Answer(ratelimit.Admitted, r.Key), nil
}

// ApplyBan implements [ratelimit.Limiter].
func (l *Limiter) ApplyBan(b petcat.Ban) { l.memory.ApplyBan(b) }
