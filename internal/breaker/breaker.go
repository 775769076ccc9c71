// Package breaker is a circuit breaker: it keeps callers from piling up before
// something that does not answer.
//
// It makes no calls and knows no errors: its callers say whether they were answered.
// Without a caller it stays as it is, because nothing runs in the background.
package breaker

import (
	"context"
	"sync"
	"time"

	"petcat/internal/clock"
)

// State is one of the three of a circuit breaker.
type State int

const (
	// Closed lets everybody through.
	Closed State = iota
	// Open lets nobody through for [Options.OpenFor]. The next caller after that begins
	// the trial.
	Open
	// HalfOpen lets one caller at a time through, the trial, until one comes back with
	// an answer, which closes the breaker.
	HalfOpen
)

// Outcome is what became of a call.
type Outcome int

const (
	// Answered calls succeeded, or ended with an error that only what works returns.
	Answered Outcome = iota
	// Unknown is the outcome if the caller gave up, for example.
	Unknown
	// Failed calls had no answer in time, or no connection.
	Failed
)

// Options says how a [Breaker] works. All fields are required but those with a default.
type Options struct {
	Clock clock.Clock
	// OpenFor is the pause after a failure.
	OpenFor time.Duration
	// TrialTimeout is how long other callers wait for the outcome of a trial, and
	// MaxWaiting how many of them may; 0: none.
	TrialTimeout time.Duration
	MaxWaiting   int
}

// Breaker is a circuit breaker, closed at first. It is safe for concurrent use.
type Breaker struct {
	o Options

	mu      sync.Mutex
	state   State         // guarded by mu
	changes uint64        // guarded by mu; of the state, so far
	since   clock.Reading // guarded by mu; the last failure
	cause   error         // guarded by mu; of the last failure; nil if closed
	trial   chan struct{} // guarded by mu; closed when the trial is back; nil unless half-open
	waiting int           // guarded by mu; for the trial
}

// New returns a breaker that is closed.
func New(o Options) *Breaker { return &Breaker{o: o} }

// Ticket is what a caller was let through with: the number of changes before. Its
// outcome counts only while nothing has changed since.
type Ticket uint64

// Enter returns the last failure when the caller is not let through. Otherwise the
// caller must call Leave. It waits for a trial at most once, and no longer than ctx.
func (b *Breaker) Enter(ctx context.Context) (Ticket, error) {
	for mayWait := true; ; mayWait = false {
		t, trial, err := b.tryEnter(mayWait)
		if trial == nil {
			return t, err
		}
		b.await(ctx, trial)
	}
}

// tryEnter returns a trial if the caller may wait for it. Without one or an error, the
// caller is let through.
func (b *Breaker) tryEnter(mayWait bool) (_ Ticket, trial chan struct{}, _ error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.state == HalfOpen && mayWait && b.waiting < b.o.MaxWaiting:
		b.waiting++
		return 0, b.trial, nil
	case b.state == HalfOpen, b.state == Open && b.o.Clock.Read().Since(b.since) < b.o.OpenFor:
		return 0, nil, b.cause
	case b.state == Open:
		b.become(HalfOpen)
		b.trial = make(chan struct{})
	}
	return Ticket(b.changes), nil, nil
}

func (b *Breaker) await(ctx context.Context, trial <-chan struct{}) {
	timer := time.NewTimer(b.o.TrialTimeout)
	defer timer.Stop()
	select {
	case <-trial:
	case <-timer.C:
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting--
}

// become changes the state, which ends a trial. The caller holds mu.
func (b *Breaker) become(s State) {
	b.state = s
	b.changes++
	if b.trial != nil {
		close(b.trial)
		b.trial = nil
	}
}

// fail opens the breaker. The caller holds mu.
func (b *Breaker) fail(cause error) {
	b.become(Open)
	b.cause, b.since = cause, b.o.Clock.Read()
}

// Leave says what became of a call. The cause is not nil if it has failed.
func (b *Breaker) Leave(t Ticket, o Outcome, cause error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case t != Ticket(b.changes):
		// Others have found out more since, but a failure prolongs the pause.
		if o == Failed && b.state == Open {
			b.fail(cause)
		}
	case o == Failed:
		b.fail(cause)
	case b.state == Closed:
	case o == Answered:
		b.become(Closed)
		b.cause = nil
	default:
		b.become(Open) // the next one may try at once
	}
}

// Trip opens the breaker because of a failure that nobody who entered met. A trial
// under way goes on.
func (b *Breaker) Trip(cause error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state != HalfOpen {
		b.fail(cause)
	}
}

// State returns the state, and the last failure unless it is [Closed].
func (b *Breaker) State() (State, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state, b.cause
}
