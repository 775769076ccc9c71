package redislimit

import (
	"context"
	"errors"

	"petcat"
	"petcat/internal/ratelimit"
)

// flyingMost is how many charges may be under way at once. The client's queues
// hold 16,384; past a queue's end a request would wait without a bound.
const flyingMost = 8_192

var (
	errBusy         = errors.New("too many charges are under way")
	errNotConnected = errors.New("not connected")
	errStore        = errors.New("the day store did not answer in time")
)

// spendTogether decides by the server. It is not decided when the server did
// not answer.
func (l *Limiter) spendTogether(ctx context.Context, ln *lane, c ratelimit.Charge) (d ratelimit.Decision, err error, decided bool) {
	if counting := ln.part.Load(); counting > 0 {
		if nodes := l.liveNodes(); counting < nodes {
			c.Part = ratelimit.PartOf(max(1, c.Quota.PerMinute/nodes*counting))
		}
	}
	w := wait{leaser: l.leaser, charge: c}
	defer w.end()
	for {
		f, err := l.charge(ctx, ln, c, w.overdue || l.leaser.away.Load() != nil)
		if err != nil {
			l.leaser.doubt(c)
			if ctx.Err() != nil {
				return d, ratelimit.Unavailable(ctx.Err()), true
			}
			l.failed(ln, err)
			return d, nil, false
		}
		if f.code.decided() {
			return l.answer(ctx, c, f), nil, true
		}
		if err := w.forBlock(ctx, f); errors.Is(err, errLate) {
			return d, nil, false
		} else if err != nil {
			// A server that was emptied may have told this node before.
			_, known := l.views.today(c.Account, dayOf(f.now))
			return d, ratelimit.Unavailable(err), !known || ctx.Err() != nil
		}
		if !ln.trusted() {
			return d, nil, false
		}
	}
}

// charge has one charge decided, once.
func (l *Limiter) charge(ctx context.Context, ln *lane, c ratelimit.Charge, owe bool) (facts, error) {
	if l.flying.Add(1) > flyingMost {
		l.flying.Add(-1)
		return facts{}, errBusy
	}
	defer l.flying.Add(-1)
	o := &order{charge: c, owe: owe, known: l.knownBan(c), since: l.stopwatch.Read()}
	if err := l.place(ctx, o); err != nil {
		return facts{}, err
	}
	l.options.Observe(l.stopwatch.Read().Since(o.since))
	f := o.facts
	ln.succeeded()
	l.counts.together.Add(1)
	if f.unused > 0 {
		l.leaser.giveBack(petcat.DayReturn{Account: c.Account, Day: f.oldDay, Unused: f.unused})
	}
	if f.leasing {
		l.leaser.lease(c, f)
	}
	if f.ban.start > o.known.start {
		l.memory.ApplyBan(f.ban.of(c, l.options.Bans))
	}
	return f, nil
}

// answer tells the caller what the facts mean.
func (l *Limiter) answer(ctx context.Context, c ratelimit.Charge, f facts) ratelimit.Decision {
	t := f.tally(c)
	switch f.code {
	case codeBanned:
		return t.Banned(f.ban.end, c.Key)
	case codeMinuteSpent, codeDaySpent:
		d := t.Answer(ratelimit.Verdict(f.code), c.Key)
		if l.options.Bans != petcat.BansOff && d.Judge(c.Quota, f.early, l.options.Bans) {
			l.impose(ctx, c, f, &d)
		}
		return d
	default:
		return t.Answer(ratelimit.Admitted, c.Key)
	}
}

// failed takes note of a command on a request's way that the server did not
// answer.
func (l *Limiter) failed(ln *lane, err error) {
	first := false
	if e, ok := errors.AsType[*lostCall](err); ok {
		if e.noted.Swap(true) {
			return // by another that shared the call
		}
		first, err = e.first, e.error
	}
	var opened bool
	switch {
	case errors.Is(err, errBusy), errors.Is(err, errLate), errors.Is(err, context.Canceled):
		return // the server is not to blame
	case errors.Is(err, context.DeadlineExceeded):
		// Those that were under way at the same time are lost for the same reason.
		opened = first && ln.timedOut(l.local.Now())
	case refusesWrites(err):
		// It will refuse the next one, too, and answer those that write nothing
		// meanwhile.
		opened = ln.open(l.local.Now())
	}
	if opened {
		l.tellLost(err)
	}
	l.counts.failures.Add(1)
	// Find out at once, and tell the server what was admitted without it.
	l.beatSoon()
}

func (l *Limiter) tellLost(err error) {
	l.logger.Error("the limiter's server is away: this node counts alone", "error", describe(err))
}
