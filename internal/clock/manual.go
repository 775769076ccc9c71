package clock

import (
	"sync"
	"time"
)

// Manual is a clock for tests: it stands still until it is told to move.
type Manual struct {
	mu   sync.Mutex
	wall int64 // guarded by mu
	mono int64 // guarded by mu
}

// NewManual returns a clock whose wall clock shows t.
func NewManual(t time.Time) *Manual { return &Manual{wall: t.UnixNano()} }

// Read returns where the clock stands.
func (m *Manual) Read() Reading {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Reading{Wall: m.wall, Mono: m.mono}
}

// Advance lets time pass: both clocks move.
func (m *Manual) Advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wall += int64(d)
	m.mono += int64(d)
}

// Step sets the wall clock off by d, forwards or backwards, as an administrator
// or a time server does. No time passes.
func (m *Manual) Step(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wall += int64(d)
}
