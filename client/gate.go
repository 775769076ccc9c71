package petcat

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// The gate's own times.
const (
	// trust is how long the numbers of a response are believed: other clients may use the
	// requests that remain. It is also how long the gate waits for the response to a
	// request that goes first. The service counts early retries from 2 s after it began
	// to refuse: a client that believes a response for a second learns of that before.
	trust = time.Second
	// A window ends at the same time for all clients. So each client sends again at a
	// random time after that: within a second for a minute, within a minute for a day, and
	// after 429s in a row within one second, two, four and so on.
	firstSpread = time.Second
	maxSpread   = time.Minute
)

// gate lets the requests of a Client pass, as many as the service will admit. The
// package comment explains it.
type gate struct {
	mu    sync.Mutex
	queue []*waiter   // guarded by mu, as is all below; first come, first served
	timer *time.Timer // calls advance

	opens  time.Time // nothing is sent before it
	closed *Error    // why, if the service refuses requests; nil if they are only spread

	// remaining is how many requests would be admitted, inFlight how many of them have
	// been sent. remaining is valid until fresh; after that it is unknown.
	remaining, inFlight int64
	fresh               time.Time

	// Until spreadTill, requests are spread as if told requests remained.
	spreadTill time.Time
	told       int64

	sent     uint64 // how many requests were sent
	learned  uint64 // sent when a response was last believed: responses to later requests are newer
	refusals int    // 429s in a row
}

// waiter is a call that waits to send a request.
type waiter struct {
	maxWait  time.Duration
	deadline time.Time     // zero: none
	done     chan struct{} // closed when pass or err is set
	pass     *pass
	err      error
}

// pass is the right to send one request. Afterwards one of its methods must be called once,
// with the outcome. A request that counts in no window has a nil pass.
type pass struct {
	gate   *gate
	number uint64 // of the request
}

// now reads the system's clock. In tests, testing/synctest sets it.
func now() time.Time { return time.Now() } //nolint:forbidigo // see above

// enter waits until a request may be sent. It returns the error of the context, or, if the
// wait would be too long, the [Error] that the service would answer with.
func (g *gate) enter(ctx context.Context, maxWait time.Duration) (*pass, error) {
	w := &waiter{maxWait: maxWait, done: make(chan struct{})}
	w.deadline, _ = ctx.Deadline()
	g.mu.Lock()
	if err := g.turnAway(w); err != nil {
		g.mu.Unlock()
		return nil, err
	}
	g.queue = append(g.queue, w)
	g.advance()
	g.mu.Unlock()
	select {
	case <-w.done:
	case <-ctx.Done():
		g.mu.Lock()
		defer g.mu.Unlock()
		if i := slices.Index(g.queue, w); i >= 0 {
			g.queue = slices.Delete(g.queue, i, i+1)
			return nil, ctx.Err()
		}
		// The gate let it pass at the same time: its request will fail with the context.
	}
	return w.pass, w.err
}

// turnAway returns why a waiter cannot wait until the gate opens, nil if it can. The
// caller holds mu.
func (g *gate) turnAway(w *waiter) error {
	wait := g.opens.Sub(now())
	if g.closed == nil || wait <= 0 || wait <= w.maxWait && (w.deadline.IsZero() || g.opens.Before(w.deadline)) {
		return nil
	}
	return g.closed.notSent(wait)
}

// advance lets as many waiters pass as may. The caller holds mu.
func (g *gate) advance() {
	for len(g.queue) > 0 {
		at := now()
		if at.Before(g.opens) {
			g.wake(g.opens.Sub(at))
			return
		}
		g.closed = nil
		if !at.Before(g.fresh) {
			// Nothing is known of the limits, so only one request goes first.
			g.remaining, g.fresh = g.inFlight+1, at.Add(trust)
		}
		if g.remaining <= g.inFlight {
			g.wake(g.fresh.Sub(at))
			return
		}
		if left := g.spreadTill.Sub(at); left > 0 {
			g.opens = at.Add(left / time.Duration(max(g.told, 1)))
		}
		g.inFlight++
		g.sent++
		w := g.queue[0]
		g.queue = slices.Delete(g.queue, 0, 1)
		w.pass = &pass{gate: g, number: g.sent}
		close(w.done)
	}
}

// wake calls advance after a time. The caller holds mu.
func (g *gate) wake(after time.Duration) {
	if g.timer != nil {
		g.timer.Reset(after)
		return
	}
	g.timer = time.AfterFunc(after, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.advance()
	})
}

// close lets nothing pass before until, and turns away the waiters that cannot wait that
// long. The caller holds mu.
func (g *gate) close(why *Error, until time.Time) {
	g.closed, g.opens, g.fresh = why, until, time.Time{}
	g.queue = slices.DeleteFunc(g.queue, func(w *waiter) bool {
		w.err = g.turnAway(w)
		if w.err != nil {
			close(w.done)
		}
		return w.err != nil
	})
}

// reopen opens the gate: the service says that it would admit requests.
func (g *gate) reopen() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed != nil {
		g.opens = now()
		g.advance()
	}
}

// answered records that the request got a response with these limits.
func (p *pass) answered(l Limits) {
	if p == nil {
		return
	}
	g := p.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	defer g.advance()
	g.inFlight--
	// Of responses to requests that were in flight together, the lowest counts: any of
	// them may be the last that the service admitted.
	newer := p.number > g.learned
	if !newer && (g.closed != nil || l.Remaining >= g.remaining) {
		return
	}
	if newer && g.refusals > 0 {
		g.refusals = 0
		g.spreadTill = l.ends
	}
	g.learned = g.sent
	if l.Remaining <= 0 {
		why, spread := spent(l)
		g.close(why, l.ends.Add(jitter(spread)))
		return
	}
	g.remaining, g.told, g.fresh = l.Remaining, l.Remaining, now().Add(trust)
	if l.ends.Before(g.fresh) {
		g.fresh = l.ends
	}
}

// refused records that the request got a 429.
func (p *pass) refused(e *Error) {
	if p == nil {
		return
	}
	g := p.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inFlight--
	if g.closed == nil || p.number > g.learned { // else it was in flight with one that was refused
		g.refusals++
	}
	g.learned = g.sent
	until := now().Add(e.RetryAfter + jitter(doubled(firstSpread, maxSpread, g.refusals-1)))
	if e.RetryAfter == 0 {
		until = now().Add(backoff(g.refusals))
	}
	if g.closed != nil && g.opens.After(until) {
		until = g.opens
	}
	g.close(e, until)
	g.advance() // sets the timer
}

// unanswered records that the request got no response, or one without limits. The service may
// have counted it.
func (p *pass) unanswered() {
	if p == nil {
		return
	}
	g := p.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inFlight--
	g.remaining--
	if g.inFlight == 0 {
		g.fresh = time.Time{} // the service may have been restarted, and count anew
	}
	g.advance()
}

// spent returns the error that the service would answer with while no requests of a window
// remain, and within which time clients are to send again after its end.
func spent(l Limits) (why *Error, spread time.Duration) {
	code, window, spread := CodeRateLimitExceeded, "minute", firstSpread
	if l.day {
		code, window, spread = CodeDailyQuotaExceeded, "day", maxSpread
	}
	return &Error{Status: http.StatusTooManyRequests, Code: code, Message: fmt.Sprintf("all %d requests of the %s are used", l.Limit, window)}, spread
}
