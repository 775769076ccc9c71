package ratelimit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"petcat"
	"petcat/internal/clock"
)

const (
	// silence is how long a call waits for its answer, how long a request waits for its
	// turn, and for how long no call must have been answered before memory decides. With
	// 250 ms, a busy database without any fault let most accounts exceed their quotas.
	silence = time.Second
	// trust is how long memory decides at most; after that, requests are refused.
	trust = 30 * time.Second
	// Requests that arrive while a call is under way share the next one, which waits for it
	// no longer than overtake: two calls at once would be half as large, and cost a tenth more.
	requestsInCall, overtake = 64, 5 * time.Millisecond
	// maxWaiting is more requests than the counters decide within silence.
	maxWaiting = 16_384
)

// ErrSilent says that the counters do not answer, so that memory decides.
var ErrSilent = errors.New("the counters do not answer")

// ErrAway says that the counters have not answered for so long that memory is not trusted.
var ErrAway = errors.New("the counters have not answered for 30 seconds")

// errOverloaded: too many requests wait, or the request's call failed while others were
// answered. Such requests are never admitted from memory, so that a quota is exact under any
// load.
var errOverloaded = errors.New("too many requests wait to be counted")

// pending is a request that waits for the counters.
type pending struct {
	petcat.QuotaCharge

	since int64           // monotonic
	live  context.Context //nolint:containedctx // ends when nobody waits for it

	got petcat.QuotaCount
}

// expired keeps requests from being charged whose callers have been answered, or would be
// answered too late.
func expired(r *pending, now clock.Reading) (err error) {
	if r.live.Err() != nil {
		err = ErrSilent
	} else if time.Duration(now.Mono-r.since) > silence {
		err = errOverloaded
	}
	return err
}

// pulse knows whether the counters answer.
type pulse struct {
	logger *slog.Logger

	mu       sync.Mutex
	answered int64 // monotonic, when a call was answered last; guarded by mu
	// live ends when the counters fall silent; all requests that wait share it. Guarded by mu.
	live  context.Context //nolint:containedctx // it belongs to no single request
	end   context.CancelFunc
	ended int64 // monotonic, when live ended; 0: the counters answer; guarded by mu
}

// heard notes that a call was answered.
func (p *pulse) heard(at int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answered = max(p.answered, at)
	if p.live == nil || p.ended != 0 {
		p.live, p.end = context.WithCancel(context.Background()) //nolint:forbidigo // it belongs to no single request
		p.ended = 0
		p.logger.Info("the database decides the limits")
	}
}

// judge decides what becomes of the requests of a failed call; nil: that is still open.
func (p *pulse) judge(sent, now int64, cause error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.answered > sent:
		return errOverloaded
	case p.ended == 0 && time.Duration(now-sent) < silence:
		return nil
	case p.ended == 0:
		p.ended = now
		p.end()
		p.logger.Error("the database does not decide the limits; this node decides from memory, for 30 seconds at most", "error", cause)
	}
	return ErrSilent
}

// Err returns [ErrSilent] or [ErrAway] while the counters do not answer, else nil.
func (l *Limiter) Err() error {
	l.pulse.mu.Lock()
	defer l.pulse.mu.Unlock()
	if l.pulse.ended == 0 {
		return nil
	}
	if l.Clock.Read().Mono-l.pulse.ended > int64(trust) {
		return ErrAway
	}
	return ErrSilent
}

// ask has the counters decide a request.
func (l *Limiter) ask(q petcat.QuotaCharge) (got petcat.QuotaCount, err error) {
	l.pulse.mu.Lock()
	live, silent := l.pulse.live, l.pulse.ended != 0
	l.pulse.mu.Unlock()
	if silent {
		return got, cmp.Or(l.Err(), ErrSilent)
	}
	return l.call(live, q)
}

// call has the counters decide a request whether they answer or not.
func (l *Limiter) call(live context.Context, q petcat.QuotaCharge) (got petcat.QuotaCount, err error) {
	r := &pending{QuotaCharge: q, since: l.Clock.Read().Mono, live: live}
	for err = petcat.ErrAccountHeld; errors.Is(err, petcat.ErrAccountHeld); { // until its time is over
		err = l.calls.Submit(live, r)
	}
	if err != nil && (live.Err() != nil || errors.Is(err, ErrSilent)) {
		return got, cmp.Or(l.Err(), ErrSilent)
	}
	return r.got, err
}

// charge has requests decided in one call. A call is never repeated, because the first one
// may have counted, unless an account was held: then each request takes another turn.
func (l *Limiter) charge(group []*pending) error {
	slices.SortStableFunc(group, func(a, b *pending) int { return cmp.Compare(a.Account, b.Account) })
	charges := make([]petcat.QuotaCharge, len(group))
	for i, r := range group {
		charges[i] = r.QuotaCharge
	}
	sent := l.Clock.Read()
	ctx, cancel := context.WithTimeout(context.Background(), silence) //nolint:forbidigo // a call belongs to no single request
	defer cancel()
	counts, err := l.Counters.Charge(ctx, charges)
	if errors.Is(err, petcat.ErrAccountHeld) {
		l.pulse.heard(l.Clock.Read().Mono)
		return err
	}
	for err != nil { // one failure is no silence: others may be answered
		if verdict := l.pulse.judge(sent.Mono, l.Clock.Read().Mono, err); verdict != nil {
			return fmt.Errorf("%w: %w", verdict, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	heard := l.Clock.Read()
	l.pulse.heard(heard.Mono)
	for i, r := range group {
		r.got = counts[i]
		l.learn(r.Account, counts[i], sent, heard)
	}
	return nil
}

// learn notes an answer. Memory keeps the larger number: it may have decided meanwhile. A
// little earlier than a known answer is an overtaken one; by more than 10 s, the counters'
// clock was set back.
func (l *Limiter) learn(id petcat.AccountID, c petcat.QuotaCount, sent, heard clock.Reading) {
	l.with(id, func(a *account) {
		if early := a.at - c.Now; early > 0 && early < int64(10*time.Second) {
			return
		}
		l.rollOver(a, minuteOf(c.Now))
		a.minuteUsed, a.dayUsed = max(a.minuteUsed, c.MinuteUsed), max(a.dayUsed, c.DayUsed)
		a.at, a.sent, a.heard = c.Now, sent, heard
	})
}

// spent refuses a request whose quota is known to be spent in a window that cannot have
// ended yet: neither by the monotonic clock, which stands still while a machine is
// suspended, nor by the wall clock, which may be set.
func (l *Limiter) spent(c Charge) (u Usage, spent bool) {
	now := l.Clock.Read()
	u.Quota = c.Quota
	l.with(c.Account, func(a *account) {
		window := petcat.Minute
		switch {
		case a.at == 0 || a.minute != minuteOf(a.at):
			return
		case a.dayUsed >= c.Quota.PerDay:
			window = petcat.Day
		case a.minuteUsed < c.Quota.PerMinute:
			return
		}
		left := window.Reset(window.Index(a.at/int64(time.Second)))*int64(time.Second) - a.at
		if spent = now.Mono < a.sent.Mono+left && now.Wall < a.sent.Wall+left; spent {
			// Counted from when the answer was heard, so that Retry-After is never early.
			at := min(a.at+max(0, now.Mono-a.heard.Mono), a.at+left-1)
			u.QuotaCount = petcat.QuotaCount{Now: at, DayUsed: a.dayUsed}
			if minuteOf(at) == a.minute {
				u.MinuteUsed = a.minuteUsed
			}
		}
	})
	return u, spent
}
