package clusterlimit

import (
	"context"

	"petcat/internal/ratelimit"
)

// Peek implements [ratelimit.Limiter]. While the counters are unavailable it tells what
// they told last, and what this node has admitted since.
func (l *Limiter) Peek(ctx context.Context, c ratelimit.Charge) (ratelimit.Decision, error) {
	r := request{l: l, p: l.partitionOf(c.Account), Charge: c, since: l.stopwatch.Read()}
	v := r.p.view(c.Quota.PerMinute)
	if err := r.peek(ctx, v); err != nil {
		return ratelimit.Decision{}, ratelimit.Unavailable(err)
	}
	t := r.usage(v)
	if end := l.memory.BanEnd(c.Account, c.Key, v.now); end != 0 {
		return t.Banned(end, c.Key), nil
	}
	return t.Answer(t.Verdict(), c.Key), nil
}

// banned answers a request of a key that serves a ban. The counters are asked where the
// account stands once a minute.
func (r *request) banned(ctx context.Context, v view, end int64) ratelimit.Decision {
	known := false
	r.with(func(a *account) {
		a.rollOver(v.now)
		known, a.peeked = a.minuteKnown || a.peeked, true
	})
	if !known && v.mode == closed {
		_ = r.peek(ctx, v) // what is known will do
	}
	return r.usage(v).Banned(end, r.Key)
}

// peek asks the counters where the account stands. Without an answer of theirs what is known
// will do.
func (r *request) peek(ctx context.Context, v view) error {
	if v.mode == closed {
		_ = r.p.submit(ctx, &pendingCharge{charge: r.Charge, limit: r.Quota.PerMinute, peek: true, since: r.since})
	}
	if _, known := r.knownDay(v); known {
		return nil
	}
	_, err := r.dayUsed(ctx, dayOf(v.now))
	return err
}

// knownDay returns how much of the day is used, as far as this node knows.
func (r *request) knownDay(v view) (used int64, known bool) {
	r.with(func(a *account) {
		a.rollOver(v.now)
		used, known = a.dayUsed, a.dayKnown
	})
	return used, known
}

// dayUsed returns how much of a day is used as far as that is known without the counters:
// what the store can read, or what they told this node last, which may be more: what was
// owed then.
func (r *request) dayUsed(ctx context.Context, day int64) (int64, error) {
	count, err := r.l.leaser.read(ctx, r.Account, day)
	r.with(func(a *account) {
		switch {
		case a.day != day:
		case a.dayKnown:
			count, err = max(count, a.dayUsed), nil
		case err == nil:
			a.dayKnown, a.dayUsed = true, count
		}
	})
	return count, err
}
