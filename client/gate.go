package petcat

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	// trust is how long the gate relies on the numbers of a response: other clients may use
	// the requests that remain. It is also the longest time that the gate waits for the
	// response to a first request. The service counts early retries from 2 s after the
	// first rejection, so the client learns of a rejection before that.
	trust = time.Second
	// A window resets at the same time for all clients, so each sends again after a random
	// delay: up to a second after a minute, a minute after a day, and one, two, four
	// seconds and so on after consecutive 429s.
	firstSpread = time.Second
	maxSpread   = time.Minute
	// Shorter waits are not reported.
	reportedWait = time.Second
)

// gate delays the requests of a Client until the service will allow them. The package
// comment explains it.
type gate struct {
	mu    sync.Mutex
	queue []*waiter   // first in, first out; guarded by mu, like all fields below
	timer *time.Timer // calls allow

	opens  time.Time // requests are blocked before
	closed *Error    // the reason, if the service rejects requests; nil if they are only spread

	// remaining is the number of requests that the service would allow; inFlight of them are already
	// sent. It is unknown after validUntil.
	remaining, inFlight int64
	validUntil          time.Time

	// Until spreadUntil, requests are evenly spaced, as many as spreadOver in the time left.
	spreadUntil time.Time
	spreadOver  int64

	sent       uint64 // the number of the last request
	known      uint64 // sent at the last response that counted: later requests have newer responses
	rejections int    // consecutive 429s
}

// waiter is a call that waits to send a request.
type waiter struct {
	maxWait  time.Duration
	deadline time.Time     // zero: none
	done     chan struct{} // closed when pass or err is set
	pass     *pass
	err      error
	news     chan struct{} // has an element if the wait may have become longer
}

// pass is the right to send one request. Its done method must be called once. A nil pass is
// for requests that do not count.
type pass struct {
	gate   *gate
	number uint64 // of the request
}

// now reads the system's clock. In tests, testing/synctest sets it.
func now() time.Time { return time.Now() } //nolint:forbidigo // see above

// enter waits until a request may be sent. It returns the error of the context, or, if the
// wait would be too long, the [Error] that the service would respond with. Before a long wait,
// it calls report, once for each reason, which is nil if requests are only spread.
func (g *gate) enter(ctx context.Context, maxWait time.Duration, report func(time.Duration, *Error)) (*pass, error) {
	w := &waiter{maxWait: maxWait, done: make(chan struct{}), news: make(chan struct{}, 1)}
	w.deadline, _ = ctx.Deadline()
	g.mu.Lock()
	if err := g.tooLong(w); err != nil {
		g.mu.Unlock()
		return nil, err
	}
	g.queue = append(g.queue, w)
	g.allow()
	g.mu.Unlock()
	reported, reason := false, (*Error)(nil)
	for {
		select {
		case <-w.done:
			return w.pass, w.err
		case <-w.news:
			wait, why := g.wait()
			if wait > reportedWait && !(reported && why == reason) {
				reported, reason = true, why
				report(wait, why)
			}
		case <-ctx.Done():
			g.mu.Lock()
			defer g.mu.Unlock()
			if i := slices.Index(g.queue, w); i >= 0 {
				g.queue = slices.Delete(g.queue, i, i+1)
				return nil, ctx.Err()
			}
			// It was allowed at the same time: its request will fail with the context.
			return w.pass, w.err
		}
	}
}

// wait returns how long requests are blocked, and why.
func (g *gate) wait() (time.Duration, *Error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.opens.Sub(now()), g.closed
}

// tooLong returns an error if the gate opens too late for a waiter. The caller holds mu.
func (g *gate) tooLong(w *waiter) error {
	wait := g.opens.Sub(now())
	if g.closed == nil || wait <= 0 || wait <= w.maxWait && (w.deadline.IsZero() || g.opens.Before(w.deadline)) {
		return nil
	}
	return g.closed.notSent(wait)
}

// allow allows as many waiters as possible. The caller holds mu.
func (g *gate) allow() {
	for len(g.queue) > 0 {
		at := now()
		if at.Before(g.opens) {
			g.allowIn(g.opens.Sub(at))
			for _, w := range g.queue {
				select {
				case w.news <- struct{}{}:
				default:
				}
			}
			return
		}
		g.closed = nil
		if !at.Before(g.validUntil) { // the limits are unknown: one request goes first
			g.remaining, g.validUntil = g.inFlight+1, at.Add(trust)
		}
		if g.remaining <= g.inFlight {
			g.allowIn(g.validUntil.Sub(at))
			return
		}
		if left := g.spreadUntil.Sub(at); left > 0 {
			g.opens = at.Add(left / time.Duration(max(g.spreadOver, 1)))
		}
		g.inFlight++
		g.sent++
		w := g.queue[0]
		g.queue = slices.Delete(g.queue, 0, 1)
		w.pass = &pass{gate: g, number: g.sent}
		close(w.done)
	}
}

// allowIn calls allow after a delay. The caller holds mu.
func (g *gate) allowIn(delay time.Duration) {
	if g.timer != nil {
		g.timer.Reset(delay)
		return
	}
	g.timer = time.AfterFunc(delay, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.allow()
	})
}

// close blocks requests for a duration, and fails the waiters that cannot wait that long. The
// caller holds mu.
func (g *gate) close(reason *Error, until time.Time) {
	g.closed, g.opens, g.validUntil = reason, until, time.Time{}
	g.queue = slices.DeleteFunc(g.queue, func(w *waiter) bool {
		w.err = g.tooLong(w)
		if w.err != nil {
			close(w.done)
		}
		return w.err != nil
	})
}

// reopen opens the gate, because the service says that it would allow requests.
func (g *gate) reopen() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed != nil {
		g.opens = now()
		g.allow()
	}
}

// done records the outcome of the request: its 429, or the limits in its response, which are
// zero if it got none, or one without limits.
func (p *pass) done(l Limits, rejected *Error) {
	if p == nil {
		return
	}
	g := p.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	defer g.allow()
	g.inFlight--
	newer := p.number > g.known
	switch {
	case rejected != nil:
		g.reject(rejected, newer)
	case l.Limit == 0: // the service may have counted the request
		g.remaining--
		if g.inFlight == 0 {
			g.validUntil = time.Time{} // the service may have been restarted, with new counts
		}
	// The lowest of several concurrent responses counts: any of them may be the last that the service
	// allowed.
	case newer || g.closed == nil && l.Remaining < g.remaining:
		g.update(l, newer)
	}
}

// reject records a 429. The caller holds mu.
func (g *gate) reject(e *Error, newer bool) {
	if g.closed == nil || newer { // else the 429 belongs to one that was counted
		g.rejections++
	}
	g.known = g.sent
	wait := e.RetryAfter + jitter(doubled(firstSpread, maxSpread, g.rejections-1))
	if e.RetryAfter == 0 {
		wait = backoff(g.rejections)
	}
	until := now().Add(wait)
	if g.closed != nil && g.opens.After(until) {
		until = g.opens
	}
	g.close(e, until)
}

// update records the limits of a response. The caller holds mu.
func (g *gate) update(l Limits, newer bool) {
	if newer && g.rejections > 0 {
		g.rejections = 0
		switch {
		case len(l.Windows) > 0:
			g.spreadUntil = l.Windows[0].Reset // the shortest, even if the day has fewer requests left
		case !l.day:
			g.spreadUntil = l.ends
		}
	}
	g.known = g.sent
	if l.Remaining <= 0 {
		reason, spread := exhausted(l)
		g.close(reason, l.ends.Add(jitter(spread)))
		return
	}
	g.remaining, g.spreadOver, g.validUntil = l.Remaining, l.Remaining, now().Add(trust)
	if l.ends.Before(g.validUntil) {
		g.validUntil = l.ends
	}
}

// exhausted returns the service's error until an exhausted window resets, and the maximum delay after
// that.
func exhausted(l Limits) (reason *Error, spread time.Duration) {
	code, window, spread := CodeRateLimitExceeded, "minute", firstSpread
	if l.day {
		code, window, spread = CodeDailyQuotaExceeded, "day", maxSpread
	}
	return &Error{
		Status:  http.StatusTooManyRequests,
		Code:    code,
		Message: fmt.Sprintf("all %d requests of the %s are used", l.Limit, window),
	}, spread
}
