package petcat

import "time"

// Window is a period of the UTC clock in which a quota counts. Windows are
// fixed, not sliding: they begin and end at the same instants for everybody,
// which is what makes a promise such as X-RateLimit-Reset exact.
type Window int

// The windows, from short to long.
const (
	Minute Window = iota
	Day
)

// Length returns the window's length.
func (w Window) Length() time.Duration {
	if w == Day {
		return 24 * time.Hour
	}
	return time.Minute
}

// Seconds returns the window's length in seconds.
func (w Window) Seconds() int64 { return int64(w.Length() / time.Second) }

// String returns the name that headers and messages use.
func (w Window) String() string {
	if w == Day {
		return "day"
	}
	return "minute"
}

// Index returns the number of the window that holds the given Unix second,
// counted from the epoch.
func (w Window) Index(unix int64) int64 {
	// Floored, so that the arithmetic also holds before 1970.
	n := unix / w.Seconds()
	if unix%w.Seconds() < 0 {
		n--
	}
	return n
}

// Reset returns the Unix second at which the window with this index ends.
func (w Window) Reset(index int64) int64 { return (index + 1) * w.Seconds() }
