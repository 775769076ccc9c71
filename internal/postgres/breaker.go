package postgres

import (
	"context"
	"errors"
	"sync"
	"time"

	"petcat/internal/clock"
)

// breaker is a circuit breaker: it keeps callers from piling up before a database
// that does not answer. Closed, it lets everybody through. A failure to reach the
// database opens it: nobody is let through for a moment. Then it is half-open: one
// caller at a time, the trial, goes through, until one comes back with an answer,
// which closes it. The others wait a little for the trial's outcome.
//
// Reads and writes have one each: commits that wait for a standby say nothing
// about reads. A failure to connect opens both.
type breaker struct {
	clock clock.Clock
	other *breaker // opened, too, by who gets no connection at all

	mu      sync.Mutex
	state   state         // guarded by mu
	changes uint64        // guarded by mu; of the state, so far
	since   clock.Reading // guarded by mu; the last failure
	cause   error         // guarded by mu; of the last failure
	trial   chan struct{} // guarded by mu; closed when the trial is back; nil unless half-open
	waiting int           // guarded by mu; for the trial
}

type state int

const (
	closed state = iota
	open
	halfOpen
)

const (
	// openFor is the pause after a failure: long enough that a database that
	// starts is not stormed, and short enough that nobody notices it then.
	openFor = 250 * time.Millisecond
	// trialTimeout is how long others wait for a trial: many times what an
	// answer takes.
	trialTimeout = 250 * time.Millisecond
)

// ticket is what a caller was let through with: the number of changes before. What
// a caller tells counts only while nothing has changed since.
type ticket uint64

// enter returns an error when the caller is not let through. Otherwise the
// caller must call leave.
func (b *breaker) enter(ctx context.Context) (ticket, error) {
	for patient := true; ; patient = false {
		t, trial, err := b.tryEnter(patient)
		if trial == nil {
			return t, err
		}
		b.await(ctx, trial)
	}
}

// tryEnter returns a trial to who may wait for it. Without one or an error, the
// caller is let through.
func (b *breaker) tryEnter(patient bool) (_ ticket, trial chan struct{}, _ error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.state == halfOpen && patient && b.waiting < maxWaiting:
		b.waiting++
		return 0, b.trial, nil
	case b.state == halfOpen, b.state == open && b.clock.Read().Since(b.since) < openFor:
		return 0, nil, &unreachableError{b.cause}
	case b.state == open:
		b.become(halfOpen)
		b.trial = make(chan struct{})
	}
	return ticket(b.changes), nil, nil
}

func (b *breaker) await(ctx context.Context, trial <-chan struct{}) {
	timer := time.NewTimer(trialTimeout)
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
func (b *breaker) become(s state) {
	b.state = s
	b.changes++
	if b.trial != nil {
		close(b.trial)
		b.trial = nil
	}
}

// fail opens the breaker. The caller holds mu.
func (b *breaker) fail(cause error) {
	b.become(open)
	b.cause, b.since = cause, b.clock.Read()
}

// tried returns an error while a trial is under way: who would queue behind it may
// wait for long, and is better told now.
func (b *breaker) tried() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == halfOpen {
		return &unreachableError{b.cause}
	}
	return nil
}

// outcome is how far a caller came.
type outcome int

const (
	answered  outcome = iota // the database said something, be it an error
	notAsked                 // the caller gave up; nothing is known
	noContact                // it did not answer in time, or there was no connection
)

// newBreakers returns one for reads and one for writes.
func newBreakers(c clock.Clock) (reads, writes *breaker) {
	reads, writes = &breaker{clock: c}, &breaker{clock: c}
	reads.other, writes.other = writes, reads
	return reads, writes
}

// leave tells how a caller fared.
func (b *breaker) leave(t ticket, o outcome, cause error) {
	if o == noContact && errors.Is(cause, errNoConnection) {
		b.other.trip(cause)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case t != ticket(b.changes):
		// Others have found out more since, but a failure prolongs the pause.
		if o == noContact && b.state == open {
			b.fail(cause)
		}
	case o == noContact:
		b.fail(cause)
	case b.state == closed:
	case o == answered:
		b.become(closed)
		b.cause = nil
	default:
		b.become(open) // the next one may try at once
	}
}

// trip opens the breaker because of what another one's caller met. A trial tells
// for itself.
func (b *breaker) trip(cause error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state != halfOpen {
		b.fail(cause)
	}
}

// isClosed reports whether the database was there when it was last asked.
func (b *breaker) isClosed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state == closed
}
