// Package clocktest provides a clock for tests.
package clocktest

import (
	"sync"
	"time"

	"github.com/petcat-api/petcat/internal/clock"
)

// Manual is a [clock.Clock] that only moves when a test moves it. It is safe for concurrent use.
type Manual struct {
	mu      sync.Mutex
	reading clock.Reading // guarded by mu
}

// NewManual returns a clock whose wall clock shows t.
func NewManual(t time.Time) *Manual { return &Manual{reading: clock.Reading{Wall: t.UnixNano()}} }

// Read implements [clock.Clock].
func (m *Manual) Read() clock.Reading {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.reading
}

// Advance moves both clocks forward.
func (m *Manual) Advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reading.Wall += int64(d)
	m.reading.Mono += int64(d)
}

// Step moves only the wall clock, forward or backward, as an administrator or a time server
// does.
func (m *Manual) Step(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reading.Wall += int64(d)
}
