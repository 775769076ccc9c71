package postgres

import (
	"sync"
	"time"

	"github.com/petcat-api/petcat/internal/clock"
)

// breaker is a circuit breaker: calls fail fast while the database does not respond. It is closed at
// first and lets every call through. A failed call opens it: it rejects all calls for a pause, then lets
// one through at a time, until one succeeds, which closes it. It is safe for concurrent use.
//
// It opens at the first failure, because a rejected call affects only itself. The limits
// (internal/ratelimit/state.go) wait for a second of silence, because their alternative to a call is
// a decision from memory, which may exceed a quota.
type breaker struct {
	clock clock.Clock

	mu       sync.Mutex
	cause    error         // guarded by mu; the last failure; nil if closed
	failedAt clock.Reading // guarded by mu
	trying   bool          // guarded by mu; a call was let through while it is open
}

// pause is long enough not to flood a starting database with connections, and too short to be
// noticed.
const pause = 250 * time.Millisecond

// err returns the last failure, or nil if the breaker is closed.
func (b *breaker) err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cause
}

// rejects returns the last failure if enter would return it now.
func (b *breaker) rejects() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rejection()
}

func (b *breaker) rejection() error {
	if b.trying || b.clock.Read().Since(b.failedAt) < pause {
		return b.cause // nil if closed
	}
	return nil
}

// enter returns the last failure if the call is not let through. Otherwise the caller must
// report its result with responded, failed or unknown.
func (b *breaker) enter() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := b.rejection()
	b.trying = b.trying || err == nil && b.cause != nil
	return err
}

// responded reports that the database responded, if only with an error.
func (b *breaker) responded() { b.failed(nil) }

// failed reports that there was no connection, or no response in time.
func (b *breaker) failed(cause error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trying, b.cause, b.failedAt = false, cause, b.clock.Read()
}

// unknown reports an inconclusive call, for example because the caller gave up.
func (b *breaker) unknown() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trying = false
}
