// Package breaker is a circuit breaker: it keeps callers from piling up before
// something that does not answer.
//
// It makes no calls and knows no errors: its callers say whether they were answered.
package breaker

import (
	"sync"
	"time"

	"petcat/internal/clock"
)

// Breaker is closed at first: it lets everybody through. After a failure it is open, and
// lets nobody through for a pause. Then it lets one caller at a time through, until one is
// answered, which closes it. It is safe for concurrent use.
type Breaker struct {
	clock clock.Clock
	pause time.Duration

	mu       sync.Mutex
	cause    error         // guarded by mu; of the last failure; nil if closed
	failedAt clock.Reading // guarded by mu
	trying   bool          // guarded by mu; a caller was let through while it is open
}

// New returns a breaker that is closed.
func New(c clock.Clock, pause time.Duration) *Breaker { return &Breaker{clock: c, pause: pause} }

// Err returns the last failure, and nil if the breaker is closed.
func (b *Breaker) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cause
}

// Refuses returns the last failure if a caller would not be let through now.
func (b *Breaker) Refuses() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refuses()
}

func (b *Breaker) refuses() error {
	if b.trying || b.clock.Read().Since(b.failedAt) < b.pause {
		return b.cause // nil if closed
	}
	return nil
}

// Enter returns the last failure if the caller is not let through. Otherwise the caller
// must call Answered, Failed or Unknown.
func (b *Breaker) Enter() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := b.refuses()
	if err == nil {
		b.trying = b.cause != nil
	}
	return err
}

// Answered says that a call succeeded, or ended with an error that only what works returns.
func (b *Breaker) Answered() { b.leave(nil) }

// Failed says that a call had no answer in time, or no connection.
func (b *Breaker) Failed(cause error) { b.leave(cause) }

func (b *Breaker) leave(cause error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trying, b.cause, b.failedAt = false, cause, b.clock.Read()
}

// Unknown says that the outcome is unknown, for example because the caller gave up.
func (b *Breaker) Unknown() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trying = false
}
