package ratelimit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/groupcommit"
)

const (
	// Requests that arrive during a call share the next call, which starts after overtake if
	// the first is still running: two parallel calls would be half as large and cost 10 % more.
	requestsInCall, overtake = 64, 5 * time.Millisecond
	// maxWaiting is more than the number of requests that the counters can decide within silence.
	maxWaiting = 16_384
	// The first probe follows a failed call at once, because a new connection often works. The
	// pause between probes doubles up to a second, so that a starting database is not flooded with
	// connections.
	firstPause, maxPause = 10 * time.Millisecond, silence
)

// ErrSilent means that the counters are not responding, so the node decides from memory.
var ErrSilent = errors.New("the counters are not responding")

// ErrDown means that the counters have been silent for so long that the counts in memory are
// outdated.
var ErrDown = errors.New("the counters have not responded for 30 seconds")

// The errors of requests that are rejected and not decided from memory, so that quotas are exact
// under any load. The request of a failed call may have been charged.
var (
	errOverloaded = errors.New("too many requests are queued for the counters")
	errLocked     = errors.New("the counters were locked for a second")
	errCallFailed = errors.New("a call to the counters failed, and others succeed")
)

// counters counts requests in the database that all nodes share, with many requests in a call. A
// call is never repeated, because a failed call may have charged its requests.
type counters struct {
	options Options
	clock   *sharedClock
	learn   func(id petcat.AccountID, c petcat.QuotaCount, sent, received clock.Reading)
	calls   *groupcommit.Committer[*pending]
	open    context.Context //nolint:containedctx // canceled by close
	stop    context.CancelFunc
	probing sync.WaitGroup

	mu    sync.Mutex
	state state // guarded by mu
	// live is canceled when the counters fall silent. All waiting requests share it. Guarded by mu.
	live       context.Context //nolint:containedctx // shared by requests
	fallSilent context.CancelFunc
	timer      *time.Timer   // calls tick when a doubt becomes silence
	response   chan struct{} // closed by the next response; nil until a call fails; guarded by mu
	cause      error         // of the last failed call; guarded by mu
}

// pending is a request that waits for the counters.
type pending struct {
	petcat.QuotaCharge

	since int64           // monotonic
	live  context.Context //nolint:containedctx // canceled when the request is abandoned
	held  error           // of the last call, if it was rolled back

	got petcat.QuotaCount
}

// failedCall is the error of a failed call. Its requests wait: if another call succeeds they are
// rejected, and in silence they are decided from memory.
type failedCall struct {
	error

	response <-chan struct{} // closed by the next response
}

func (e *failedCall) Unwrap() error { return e.error }

// newCounters starts the counters. learn is called with each response.
func newCounters(
	o Options, shared *sharedClock, learn func(petcat.AccountID, petcat.QuotaCount, clock.Reading, clock.Reading),
) *counters {
	c := &counters{options: o, clock: shared, learn: learn}
	c.open, c.stop = context.WithCancel(context.Background()) //nolint:forbidigo // canceled by close
	c.timer = time.AfterFunc(silence, c.tick)                 // no effect unless the counters are doubtful
	c.resume()
	c.calls = groupcommit.New(groupcommit.Options[*pending]{
		Commit: c.call, Expired: expired, Clock: o.Clock, Observe: o.Observe,
		Overtake: overtake, MaxGroup: requestsInCall, Line: groupcommit.NewLine(maxWaiting),
	})
	return c
}

// close stops the calls and probes. The timer still decides the requests of a failed call.
func (c *counters) close() {
	c.stop()
	c.calls.Close()
	c.probing.Wait()
}

// err is [Limiter.Err].
func (c *counters) err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	return c.state.err()
}

// charge counts a request. It returns [ErrSilent] if memory must decide. If an account was locked, the
// call was rolled back, and the request joins another call until it expires.
func (c *counters) charge(q petcat.QuotaCharge) (petcat.QuotaCount, error) {
	r := &pending{QuotaCharge: q, since: c.options.Clock.Read().Mono}
	for {
		err := c.join(r)
		if err == nil {
			return r.got, nil
		}
		if !errors.Is(err, petcat.ErrAccountHeld) {
			return petcat.QuotaCount{}, err
		}
		r.held = err
	}
}

// join waits for the result of a request in the next call.
func (c *counters) join(r *pending) error {
	live, err := c.ready()
	if err != nil {
		return err
	}
	r.live = live
	err = c.calls.Submit(live, r)
	if failed, ok := errors.AsType[*failedCall](err); ok {
		select {
		case <-failed.response:
			return fmt.Errorf("%w: %w", errCallFailed, failed)
		case <-live.Done():
		}
	}
	if err != nil && live.Err() != nil {
		return cmp.Or(c.err(), ErrSilent)
	}
	return err
}

// ready returns when requests may join calls. The context is canceled when the counters fall silent.
func (c *counters) ready() (live context.Context, err error) {
	for {
		c.mu.Lock()
		c.advance()
		s, live, response := c.state, c.live, c.response
		c.mu.Unlock()
		if s.phase != doubtful {
			return live, s.err()
		}
		select {
		case <-response:
		case <-live.Done():
		}
	}
}

// expired returns an error for a request that is abandoned, or has waited too long. Such
// requests are not charged.
func expired(r *pending, now clock.Reading) error {
	if r.live.Err() != nil {
		return ErrSilent
	}
	switch waited := time.Duration(now.Mono - r.since); {
	case waited <= silence:
		return nil
	case r.held != nil:
		return fmt.Errorf("%w: %v", errLocked, r.held) //nolint:errorlint // it does not join another call
	default:
		return errOverloaded
	}
}

// call sends a group of requests to the counters. It is the committer's function.
func (c *counters) call(group []*pending) error {
	slices.SortStableFunc(group, func(a, b *pending) int { return cmp.Compare(a.Account, b.Account) })
	charges := make([]petcat.QuotaCharge, len(group))
	for i, r := range group {
		charges[i] = r.QuotaCharge
	}
	sent := c.options.Clock.Read()
	ctx, cancel := context.WithTimeout(context.Background(), silence) //nolint:forbidigo // shared by requests
	defer cancel()
	counts, err := c.options.Counters.Charge(ctx, charges)
	received := c.options.Clock.Read()
	if err != nil && !errors.Is(err, petcat.ErrAccountHeld) {
		return c.failed(sent.Mono, err)
	}
	c.responded(received.Mono)
	if err != nil {
		return err
	}
	c.clock.learn(counts[0].Now, sent, received)
	for i, r := range group {
		r.got = counts[i]
		c.learn(r.Account, counts[i], sent, received)
	}
	return nil
}

// failed records a failed call, and returns the error of its requests.
func (c *counters) failed(sent int64, cause error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.state.phase
	c.state, c.cause = c.state.failure(sent), cause
	if before == responding {
		response := make(chan struct{})
		c.response = response
		c.probing.Go(func() { c.probe(response) })
	}
	c.advance()
	return &failedCall{cause, c.response}
}

// responded records a response.
func (c *counters) responded(now int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.state.phase
	c.state = c.state.response(now)
	if before == responding {
		return
	}
	close(c.response)
	if before != doubtful {
		c.resume()
	}
}

// tick is called by the timer.
func (c *counters) tick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
}

// advance brings the state to the current time. The caller must hold mu.
func (c *counters) advance() {
	if c.state.phase == responding {
		return
	}
	now := c.options.Clock.Read().Mono
	before := c.state.phase
	c.state = c.state.at(now)
	switch {
	case c.state.phase == doubtful:
		c.timer.Reset(silence - time.Duration(now-c.state.since))
	case before == doubtful:
		c.fallSilent()
		c.options.Logger.Error("the database is not responding; counting requests in memory for up to 30 seconds",
			"error", c.cause)
	}
}

// resume starts a period in which the counters respond. The caller must hold mu.
func (c *counters) resume() {
	c.live, c.fallSilent = context.WithCancel(context.Background()) //nolint:forbidigo // shared by requests
	c.options.Logger.Info("counting requests in the database")
}

// probe sends probes until the counters respond. It does not wait for a probe longer than the pause
// before the next one, because a broken connection may hang while a new one works.
func (c *counters) probe(response <-chan struct{}) {
	for pause := firstPause; c.open.Err() == nil; pause = min(2*pause, maxPause) {
		ctx, cancel := context.WithTimeout(c.open, pause)
		_ = c.calls.Submit(ctx, &pending{
			QuotaCharge: petcat.QuotaCharge{Peek: true},
			since:       c.options.Clock.Read().Mono,
			live:        ctx,
		}) // call records the result
		select {
		case <-response:
			cancel()
			return
		case <-ctx.Done():
			cancel()
		}
	}
}
