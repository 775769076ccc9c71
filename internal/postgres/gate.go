package postgres

import (
	"context"
	"sync"
	"time"

	"petcat/internal/clock"
)

// gate keeps callers from piling up before a database that does not answer.
// After a failure to reach it nobody is let through for a moment; then one at a
// time, until one comes back with an answer. The others wait a little for that
// one's outcome.
type gate struct {
	clock clock.Clock

	mu      sync.Mutex
	closed  bool          // guarded by mu
	since   clock.Reading // guarded by mu; the last failure
	cause   error         // guarded by mu; of the last failure
	probe   chan struct{} // guarded by mu; closed when the one who was let through a closed gate is back; nil: nobody was
	waiting int           // guarded by mu; for the probe
}

const (
	// probeEvery is the pause after a failure: long enough that a database that
	// starts is not stormed, and short enough that nobody notices it then.
	probeEvery = 250 * time.Millisecond
	// probePatience is how long others wait for a probe: many times what an
	// answer takes.
	probePatience = 250 * time.Millisecond
)

// enter returns an error when the caller is not let through. Otherwise the
// caller must call leave.
func (g *gate) enter(ctx context.Context) error {
	for patient := true; ; patient = false {
		probe, err := g.tryEnter(patient)
		if probe == nil {
			return err
		}
		g.await(ctx, probe)
	}
}

// tryEnter returns neither a probe nor an error to who is let through, and a
// probe to who may wait for it.
func (g *gate) tryEnter(patient bool) (probe chan struct{}, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case !g.closed:
		return nil, nil
	case g.probe != nil && patient && g.waiting < maxWaiting:
		g.waiting++
		return g.probe, nil
	case g.probe != nil || g.clock.Read().Since(g.since) < probeEvery:
		return nil, &unreachableError{g.cause}
	default:
		g.probe = make(chan struct{})
		return nil, nil
	}
}

func (g *gate) await(ctx context.Context, probe <-chan struct{}) {
	timer := time.NewTimer(probePatience)
	defer timer.Stop()
	select {
	case <-probe:
	case <-timer.C:
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting--
}

// hopeless returns an error while somebody who was let through a closed gate is
// not back: who would queue behind that attempt may wait for long, and is better
// told now.
func (g *gate) hopeless() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed && g.probe != nil {
		return &unreachableError{g.cause}
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

func (g *gate) leave(o outcome, cause error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch o {
	case answered:
		g.closed, g.cause = false, nil
	case noContact:
		g.closed, g.cause, g.since = true, cause, g.clock.Read()
	case notAsked:
	}
	if g.probe != nil {
		close(g.probe)
		g.probe = nil
	}
}

// reopen notes that the database was reached by another way. Somebody who is on
// the way tells for himself.
func (g *gate) reopen() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.probe == nil {
		g.closed, g.cause = false, nil
	}
}

// open reports whether the database was there when it was last asked.
func (g *gate) open() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.closed
}
