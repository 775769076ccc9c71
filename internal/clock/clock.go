// Package clock provides the time. Every other package takes a [Clock], so that tests can set
// the time, and none calls time.Now.
package clock

import "time"

// Reading is one reading of the wall clock and the monotonic clock. They are apart, because they
// fail in different ways: the wall clock has the time of day and may be set in either direction;
// the monotonic clock measures durations and is never set.
type Reading struct {
	// Wall is the time of day in nanoseconds since the Unix epoch.
	Wall int64
	// Mono is the monotonic clock in nanoseconds; only differences have a meaning.
	Mono int64
}

// Time returns the time of day in UTC.
func (r Reading) Time() time.Time { return time.Unix(0, r.Wall).UTC() }

// Since returns the duration between two readings.
func (r Reading) Since(earlier Reading) time.Duration {
	return time.Duration(r.Mono - earlier.Mono)
}

// Clock has the time. Implementations are safe for concurrent use.
type Clock interface {
	Read() Reading
}

// System is the clock of the machine.
type System struct {
	origin time.Time
}

// NewSystem returns the clock of the machine.
func NewSystem() System { return System{origin: time.Now()} }

// Read reads both clocks in one call, which takes about 40 ns.
func (s System) Read() Reading {
	now := time.Now()
	return Reading{
		Wall: now.UnixNano(),
		Mono: int64(now.Sub(s.origin)),
	}
}

// Deadline returns the time d from now for the deadline of a connection. The operating system
// keeps it, so it does not depend on a test's clock.
func Deadline(d time.Duration) time.Time { return time.Now().Add(d) }
