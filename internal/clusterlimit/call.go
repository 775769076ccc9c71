package clusterlimit

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/counters"
	"petcat/internal/groupcommit"
	"petcat/internal/ratelimit"
)

// pendingCharge is a request that waits for the counters.
type pendingCharge struct {
	charge   ratelimit.Charge
	limit    int64 // of the minute: the quota, less the room for others
	overdraw bool
	peek     bool          // charge nothing: where the account stands is asked
	since    clock.Reading // as the request's
	// The answer: as if the requests of a call had been decided one by one.
	facts    counters.Facts
	admitted bool
	refused  int64 // requests of the account in the same call
}

const (
	// callsAtOnce is how many calls of a partition are under way at once. Requests that
	// come in meanwhile share the next: so few make it worth a call, which costs both
	// sides several times what a decision does.
	callsAtOnce = 2
	// requestsInCall is how many requests share a call at most: some 250 µs of the
	// counters' time, for which nobody else is served.
	requestsInCall = 64
	// fullCallsAtOnce is how many calls may be under way when those that follow are
	// full. At 10 ms to the counters and back, it is 200,000 decisions a second. Many
	// partitions need fewer each.
	fullCallsAtOnce, fullCallsOfMany = 32, 4
	// requestsWaiting is how many requests may wait for one partition's counters.
	requestsWaiting = 8_192
)

// errNotSent says that a request was certainly not charged.
var errNotSent = errors.New("the call was not sent")

func (p *partition) newCalls(partitions int) *groupcommit.Committer[*pendingCharge] {
	full := max(fullCallsAtOnce/partitions, fullCallsOfMany)
	return groupcommit.New(groupcommit.Options[*pendingCharge]{
		Commit: func(group []*pendingCharge) error { return p.charge(p.l.lifetime, group) },
		Clock:  p.l.stopwatch, Expired: p.expired,
		Concurrent: callsAtOnce, ConcurrentFull: full, MaxGroup: requestsInCall, Queue: requestsWaiting,
	})
}

// expired tells a request that has waited for half of its time: a call would have too
// little left, and a request that is not answered may be charged all the same.
func (p *partition) expired(o *pendingCharge, now clock.Reading) error {
	if now.Since(o.since) > p.wait()/2 || p.state.Load().mode == open {
		return errNotSent
	}
	return nil
}

// wait returns how long a request waits for the counters now.
func (p *partition) wait() time.Duration {
	now := p.clock.Read()
	return p.l.options.Membership().wait(view{mono: now.Mono, now: now.Wall}.began(), p.l.options.timeout)
}

// submit has the counters decide a request. The outcome is unknown after an error other
// than errNotSent and [*counters.WrongEpoch].
func (p *partition) submit(ctx context.Context, o *pendingCharge) error {
	err := p.calls.Submit(ctx, o)
	if groupcommit.Refused(err) {
		return errNotSent
	}
	return err
}

// charge has requests decided in one call, once: one charge for each account.
func (p *partition) charge(ctx context.Context, group []*pendingCharge) error {
	place := make(map[petcat.AccountID]int, len(group))
	charges := make([]counters.Charge, 0, len(group))
	for _, o := range group {
		i, known := place[o.charge.Account]
		if !known {
			i = len(charges)
			place[o.charge.Account] = i
			charges = append(charges, p.begin(o.charge.Account))
		}
		c := &charges[i]
		if !o.peek {
			c.Requests++
		}
		c.PerMinute, c.PerDay, c.Overdraw = o.limit, o.charge.Quota.PerDay, c.Overdraw || o.overdraw
	}
	longest := slices.MinFunc(group, func(a, b *pendingCharge) int { return cmp.Compare(a.since.Mono, b.since.Mono) })
	facts, err := p.send(ctx, longest.since, charges)
	if err != nil {
		return err
	}
	answered := make([]int64, len(charges))
	for _, o := range group {
		i := place[o.charge.Account]
		if o.peek {
			continue
		}
		o.take(facts[i], answered[i])
		o.refused = charges[i].Requests - facts[i].Admitted
		answered[i]++
		if answered[i] == 1 {
			p.l.leaser.ahead(o.charge, facts[i])
		}
	}
	return nil
}

// take answers a request that was the nth of its account's in a call.
func (o *pendingCharge) take(f counters.Facts, n int64) {
	o.admitted, o.facts = n < f.Admitted, f
	if o.admitted {
		later := f.Admitted - 1 - n // were admitted after it
		o.facts.MinuteUsed -= later
		o.facts.Day.Free += later
	}
}

// begin returns a charge that reports what this node has admitted of the account.
func (p *partition) begin(id petcat.AccountID) counters.Charge {
	c := counters.Charge{Account: id, Series: counters.NewID()}
	p.l.accounts.with(id, func(a *account) { a.report(&c) })
	return c
}

// send sends charges once, and takes note of what comes of it.
func (p *partition) send(ctx context.Context, since clock.Reading, charges []counters.Charge) ([]counters.Facts, error) {
	asked := p.clock.Read().Mono
	ctx, stop := p.l.stopwatch.within(ctx, since, p.wait())
	defer stop()
	facts, err := p.l.options.Counters.Charge(ctx, p.number, p.state.Load().epoch, charges)
	if p.isOver(err) {
		for _, c := range charges {
			p.l.accounts.with(c.Account, func(a *account) { a.unreport(c) })
		}
		return nil, err
	}
	if err != nil {
		p.late(err)
		return nil, err
	}
	p.clock.observe(facts[0].Now, asked)
	for i, f := range facts {
		p.l.accounts.with(charges[i].Account, func(a *account) { a.learn(charges[i], f) })
	}
	return facts, nil
}

// isOver reports whether an error says that the epoch is over, and takes note of the next.
func (p *partition) isOver(err error) bool {
	wrong, is := errors.AsType[*counters.WrongEpoch](err)
	if is {
		p.change(func(s state) state { return s.in(p.clock.Read().Mono, wrong.Now) })
	}
	return is
}

// reportAll reports what this node admitted of accounts, and nothing else.
func (p *partition) reportAll(ctx context.Context, ids []petcat.AccountID) {
	var charges []counters.Charge
	for _, id := range ids {
		if c := p.begin(id); c.Reported > 0 {
			charges = append(charges, c)
		}
	}
	if len(charges) == 0 {
		return
	}
	if _, err := p.send(ctx, p.l.stopwatch.Read(), charges); err != nil {
		for _, c := range charges { // those that were certainly not sent have it still
			p.report(c.Account)
		}
	}
}
