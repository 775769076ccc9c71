package postgres

import (
	"sync"
	"time"

	"petcat/internal/clock"
)

// gate keeps callers from piling up before a database that does not answer.
// After a failure to reach it nobody is let through for a moment; then one at a
// time, until one comes back with an answer.
type gate struct {
	clock clock.Clock

	mu      sync.Mutex
	closed  bool          // guarded by mu
	since   clock.Reading // guarded by mu; the last failure
	cause   error         // guarded by mu; of the last failure
	probing bool          // guarded by mu; somebody was let through a closed gate
}

// probeEvery is the pause after a failure: long enough that a database that
// starts is not stormed, and short enough that nobody notices it then.
const probeEvery = 250 * time.Millisecond

// enter returns an error when the caller is not let through. Otherwise the
// caller must call leave.
func (g *gate) enter() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		return nil
	}
	if g.probing || g.clock.Read().Since(g.since) < probeEvery {
		return &unreachableError{g.cause}
	}
	g.probing = true
	return nil
}

// outcome is how far a caller came.
type outcome int

const (
	answered  outcome = iota // the database said something, be it an error
	notAsked                 // the caller gave up; nothing is known
	noContact                // it did not answer in time, or there was no connection
)

func (g *gate) leave(o outcome, cause error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch o {
	case answered:
		g.closed, g.probing, g.cause = false, false, nil
	case noContact:
		g.closed, g.probing, g.cause, g.since = true, false, cause, g.clock.Read()
	case notAsked:
		g.probing = false
	}
}

// open reports whether the database was there when it was last asked.
func (g *gate) open() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.closed
}
