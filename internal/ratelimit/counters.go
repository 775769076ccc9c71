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
	// silence is the timeout of a call, the maximum time that a request waits in the queue,
	// and the time without answers after which the node decides from memory. With 250 ms, a busy but
	// healthy database let most accounts exceed their quotas.
	silence = time.Second
	// trust is the maximum time that a node decides from memory; later requests get 503.
	trust = 30 * time.Second
	// Requests that arrive during a call share the next call, which starts after overtake if
	// the first is still running: two parallel calls would be half as large and cost 10 % more.
	requestsInCall, overtake = 64, 5 * time.Millisecond
	// maxWaiting is more than the number of requests that the counters can decide within silence.
	maxWaiting = 16_384
)

// ErrSilent means that the counters are not responding, so the node decides from memory.
var ErrSilent = errors.New("the counters are not responding")

// ErrDown means that the counters have been silent for so long that the counts in memory are
// outdated.
var ErrDown = errors.New("the counters have not responded for 30 seconds")

// errOverloaded means that too many requests are queued, or that the call for the request failed
// while other calls succeeded. Such requests are rejected, not decided from memory, so that quotas
// are exact under any load.
var errOverloaded = errors.New("too many requests are queued for the counters")

// pending is a request that waits for the counters.
type pending struct {
	petcat.QuotaCharge

	since int64           // monotonic
	live  context.Context //nolint:containedctx // canceled when the caller no longer waits

	got petcat.QuotaCount
}

// expired returns an error if the caller no longer waits or has waited too long. Such requests are
// not charged.
func expired(r *pending, now clock.Reading) (err error) {
	if r.live.Err() != nil {
		err = ErrSilent
	} else if time.Duration(now.Mono-r.since) > silence {
		err = errOverloaded
	}
	return err
}

// pulse tracks whether the counters respond.
type pulse struct {
	logger *slog.Logger

	mu       sync.Mutex
	answered int64 // monotonic time of the last answer; guarded by mu
	// live is canceled when the counters fall silent. All waiting requests share it. Guarded
	// by mu.
	live  context.Context //nolint:containedctx // shared by requests
	end   context.CancelFunc
	ended int64 // monotonic time when live was canceled, 0 if the counters respond; guarded by mu
}

// answer records an answer.
func (p *pulse) answer(at int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answered = max(p.answered, at)
	if p.live == nil || p.ended != 0 {
		p.live, p.end = context.WithCancel(context.Background()) //nolint:forbidigo // shared by requests
		p.ended = 0
		p.logger.Info("counting requests in the database")
	}
}

// failure records a failed call. It returns the error for the call's requests, or nil if it is
// too early to conclude that the counters are silent.
func (p *pulse) failure(sent, now int64, cause error) error {
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
		p.logger.Error("the database is not responding; counting requests in memory for up to 30 seconds", "error", cause)
	}
	return ErrSilent
}

// Err returns [ErrSilent] or [ErrDown] while the counters are silent, else nil.
func (l *Limiter) Err() error {
	l.pulse.mu.Lock()
	defer l.pulse.mu.Unlock()
	if l.pulse.ended == 0 {
		return nil
	}
	if l.options.Clock.Read().Mono-l.pulse.ended > int64(trust) {
		return ErrDown
	}
	return ErrSilent
}

// ask sends a request to the counters, unless they are silent.
func (l *Limiter) ask(q petcat.QuotaCharge) (got petcat.QuotaCount, err error) {
	l.pulse.mu.Lock()
	live, silent := l.pulse.live, l.pulse.ended != 0
	l.pulse.mu.Unlock()
	if silent {
		return got, cmp.Or(l.Err(), ErrSilent)
	}
	return l.call(live, q)
}

// call sends a request to the counters even if they are silent.
func (l *Limiter) call(live context.Context, q petcat.QuotaCharge) (got petcat.QuotaCount, err error) {
	r := &pending{QuotaCharge: q, since: l.options.Clock.Read().Mono, live: live}
	for err = petcat.ErrAccountHeld; errors.Is(err, petcat.ErrAccountHeld); { // until the request expires
		err = l.calls.Submit(live, r)
	}
	if err != nil && (live.Err() != nil || errors.Is(err, ErrSilent)) {
		return got, cmp.Or(l.Err(), ErrSilent)
	}
	return r.got, err
}

// charge sends requests to the counters in one call. It never repeats a call, which may have
// counted although it failed. If an account was locked, nothing was counted, and each request is
// submitted again.
func (l *Limiter) charge(group []*pending) error {
	slices.SortStableFunc(group, func(a, b *pending) int { return cmp.Compare(a.Account, b.Account) })
	charges := make([]petcat.QuotaCharge, len(group))
	for i, r := range group {
		charges[i] = r.QuotaCharge
	}
	sent := l.options.Clock.Read()
	ctx, cancel := context.WithTimeout(context.Background(), silence) //nolint:forbidigo // shared by requests
	defer cancel()
	counts, err := l.options.Counters.Charge(ctx, charges)
	if errors.Is(err, petcat.ErrAccountHeld) {
		l.pulse.answer(l.options.Clock.Read().Mono)
		return err
	}
	for err != nil { // other calls may succeed, so wait before assuming silence
		if verdict := l.pulse.failure(sent.Mono, l.options.Clock.Read().Mono, err); verdict != nil {
			return fmt.Errorf("%w: %w", verdict, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	received := l.options.Clock.Read()
	l.pulse.answer(received.Mono)
	for i, r := range group {
		r.got = counts[i]
		l.learn(r.Account, counts[i], sent, received)
	}
	return nil
}

// learn stores an answer. It keeps the larger counts, because the node may have admitted requests
// from memory. An answer that is up to 10 s older than the last one arrived out of order, and is
// ignored; an older one means that the counters' clock was set back.
func (l *Limiter) learn(id petcat.AccountID, c petcat.QuotaCount, sent, received clock.Reading) {
	l.with(id, func(a *account) {
		if early := a.at - c.Now; early > 0 && early < int64(10*time.Second) {
			return
		}
		l.rollOver(a, minuteOf(c.Now))
		a.minuteUsed, a.dayUsed = max(a.minuteUsed, c.MinuteUsed), max(a.dayUsed, c.DayUsed)
		a.at, a.sent, a.received = c.Now, sent, received
	})
}

// spent reports whether the quota of a request is known to be spent in the current window. The
// window has ended if either the monotonic clock or the wall clock says so: the monotonic clock
// stops while the machine is suspended, and the wall clock can be set.
func (l *Limiter) spent(q petcat.QuotaCharge) (u Usage, spent bool) {
	now := l.options.Clock.Read()
	u.Quota = q.Quota
	l.with(q.Account, func(a *account) {
		window := petcat.Minute
		switch {
		case a.at == 0 || a.minute != minuteOf(a.at):
			return
		case a.dayUsed >= q.Quota.PerDay:
			window = petcat.Day
		case a.minuteUsed < q.Quota.PerMinute:
			return
		}
		left := window.Reset(window.Index(a.at/int64(time.Second)))*int64(time.Second) - a.at
		if spent = now.Mono < a.sent.Mono+left && now.Wall < a.sent.Wall+left; spent {
			// Relative to the arrival of the answer, so that Retry-After is never early.
			at := min(a.at+max(0, now.Mono-a.received.Mono), a.at+left-1)
			u.QuotaCount = petcat.QuotaCount{Now: at, DayUsed: a.dayUsed}
			if minuteOf(at) == a.minute {
				u.MinuteUsed = a.minuteUsed
			}
		}
	})
	return u, spent
}
