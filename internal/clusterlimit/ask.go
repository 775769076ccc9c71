package clusterlimit

import (
	"context"
	"errors"

	"petcat"
	"petcat/internal/counters"
	"petcat/internal/ratelimit"
)

// ask has the counters decide the request. The error may be a [*counters.WrongEpoch]:
// then nothing was decided. Its wait for them goes on across a new epoch, and begins anew
// when they answer that it needs a lease, and when that is granted.
func (r *request) ask(ctx context.Context, v view) (ratelimit.Decision, error) {
	if err := r.awaitOthers(ctx); err != nil {
		return r.unavailable(err)
	}
	for {
		o := &pendingCharge{charge: r.Charge, limit: r.Quota.PerMinute - v.room, overdraw: r.overdraw(), since: r.since}
		if err := r.p.submit(ctx, o); err != nil {
			return r.notDecided(ctx, err)
		}
		if o.admitted || !o.needsBlock() {
			return r.decided(o), nil
		}
		r.since = r.l.stopwatch.Read()
		if err := r.awaitBlock(ctx, o); err != nil {
			return r.unavailable(err)
		}
	}
}

// unavailable answers a request of which it cannot be known how much is left.
func (r *request) unavailable(err error) (ratelimit.Decision, error) {
	r.release()
	return ratelimit.Decision{}, ratelimit.Unavailable(err)
}

// notDecided answers a request of which the counters did not tell what became.
func (r *request) notDecided(ctx context.Context, err error) (ratelimit.Decision, error) {
	if _, is := errors.AsType[*counters.WrongEpoch](err); is {
		r.daySent = false
		r.release()
		return ratelimit.Decision{}, err
	}
	if ctx.Err() != nil {
		return r.unavailable(ctx.Err())
	}
	return r.decideLocally(ctx, !errors.Is(err, errNotSent))
}

// release gives back what was taken of the budget.
func (r *request) release() {
	r.with(func(a *account) { a.release(r.taken, false) })
	r.taken = 0
}

// needsBlock reports whether only the day's block is used up, or not known.
func (o *pendingCharge) needsBlock() bool {
	day, quota := o.facts.Day, o.charge.Quota.PerDay
	unsure := day.Unsure(quota) && !o.overdraw
	return o.facts.MinuteUsed < o.limit && (!day.Known || unsure || day.Used() < quota)
}

func (o *pendingCharge) used() ratelimit.Usage {
	day, quota := o.facts.Day, o.charge.Quota
	return ratelimit.Usage{Now: o.facts.Now, Quota: quota, MinuteUsed: o.facts.MinuteUsed, DayUsed: usedOfDay(day.Used(), day.Unsure(quota.PerDay), quota)}
}

// usedOfDay returns how much of a day a client is told to be used. A day of which that is not
// sure is not spent: nobody is told so, or banned for it.
func usedOfDay(used int64, unsure bool, q petcat.Quota) int64 {
	if unsure {
		return min(used, q.PerDay-1)
	}
	return used
}

// admitted answers a request that the counters admitted.
func (r *request) admitted(o *pendingCharge) ratelimit.Decision {
	used := o.used()
	left := o.limit - used.MinuteUsed
	r.with(func(a *account) {
		if r.taken != 0 {
			left = min(left, a.budget-a.spent)
		} else {
			a.counted(o.facts.Now)
		}
	})
	if left < used.Quota.PerMinute-used.MinuteUsed {
		used.Part = ratelimit.PartOf(used.MinuteUsed + max(0, left))
	}
	return used.Answer(ratelimit.Admitted, r.Key)
}

// decided answers a request that the counters decided.
func (r *request) decided(o *pendingCharge) ratelimit.Decision {
	r.l.shared.Add(1)
	r.l.options.Observe(r.l.stopwatch.Read().Since(r.since))
	if o.admitted {
		return r.admitted(o)
	}
	r.release()
	used := o.used()
	if used.DayUsed >= r.Quota.PerDay {
		r.l.leaser.begin(r.Charge, o.facts, 0) // others may have given something back
	}
	if used.Verdict() == ratelimit.Admitted {
		return shareSpent(used, r.Key) // the rest is left to nodes that are cut off
	}
	return r.l.memory.Refuse(r.Charge, used, used.Verdict())
}
