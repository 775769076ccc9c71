package clusterlimit

import (
	"sync/atomic"
	"time"

	"petcat/internal/clock"
)

const (
	// maxDrift is how much faster than the counters' clock a node's may run, as one in
	// so many: twice what a machine without a time service is off by.
	maxDrift = 1_000
	// setBack is by how much the counters' time must be behind what is known for their
	// clock to have been set back. An answer that took a longer time, as when this
	// process stood still, does not tell what time it is.
	setBack = 2 * time.Second
)

// countersClock knows what time it is at a partition: from the times that it told and
// the node's monotonic clock when they arrived.
type countersClock struct {
	source clock.Clock
	last   atomic.Pointer[sighting]
}

// sighting is a time that was told, and had arrived at mono.
type sighting struct {
	ahead int64 // the counters' time less the monotonic clock: at most what it truly is
	mono  int64
}

// observe takes note of a time that has just arrived and was asked for at a moment of
// the monotonic clock. One that arrived later than others changes nothing, unless it is
// so late that the clock was set back.
func (c *countersClock) observe(now, asked int64) {
	mono := c.source.Read().Mono
	if mono-asked >= int64(setBack) {
		return
	}
	seen := &sighting{ahead: now - mono, mono: mono}
	for {
		last := c.last.Load()
		if last != nil {
			known := last.ahead - max(0, mono-last.mono)/maxDrift
			if seen.ahead <= known && seen.ahead > known-int64(setBack) {
				return
			}
		}
		if c.last.CompareAndSwap(last, seen) {
			return
		}
	}
}

// Read implements [clock.Clock]: Wall is the counters' time, or the node's own until
// they have told theirs.
func (c *countersClock) Read() clock.Reading {
	r := c.source.Read()
	if last := c.last.Load(); last != nil {
		r.Wall = r.Mono + last.ahead
	}
	return r
}
