package redislimit

import (
	"sync/atomic"

	"petcat/internal/clock"
)

// maxDrift is how much faster than the server's clock a node's may run, as one
// in so many: twice what a machine without a time service is off by.
const maxDrift = 1_000

// serverClock knows what time it is at the server: the server's time and the
// node's monotonic clock at its last answers. It is a [clock.Clock], by which
// this node counts while the server is away.
type serverClock struct {
	source clock.Clock
	// exact says that clocks do not drift apart: in tests, where time is made.
	exact bool
	last  atomic.Pointer[sighting]
}

// sighting is an answer of the server: it was sent at server time, and had
// arrived at mono of our monotonic clock.
type sighting struct {
	ahead int64 // server time less monotonic clock: at most what it truly is
	mono  int64
}

// at returns by how much the server is ahead of the monotonic clock at least.
func (s *sighting) at(mono int64, exact bool) int64 {
	if exact {
		return s.ahead
	}
	return s.ahead - max(0, mono-s.mono)/maxDrift
}

// observe takes note of a time that the server told in an answer that has just
// arrived. A server whose clock was set back tells less than what is known to
// have passed: then what is known stays.
func (c *serverClock) observe(server int64) {
	mono := c.source.Read().Mono
	seen := &sighting{ahead: server - mono, mono: mono}
	for {
		last := c.last.Load()
		if last != nil && last.at(mono, c.exact) >= seen.ahead {
			return
		}
		if c.last.CompareAndSwap(last, seen) {
			return
		}
	}
}

// floor returns the earliest time, in nanoseconds since the Unix epoch, that it
// can be at the server unless its clock was set back; 0 when nothing is known.
// So a window does not come twice, nor last longer, when that happens.
func (c *serverClock) floor() int64 {
	last := c.last.Load()
	if last == nil {
		return 0
	}
	mono := c.source.Read().Mono
	return mono + last.at(mono, c.exact)
}

// Read implements [clock.Clock]. Before the server told anything, it is the
// node's own wall clock.
func (c *serverClock) Read() clock.Reading {
	r := c.source.Read()
	if last := c.last.Load(); last != nil {
		r.Wall = r.Mono + last.ahead
	}
	return r
}
