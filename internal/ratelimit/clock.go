package ratelimit

import (
	"math"
	"sync/atomic"
	"time"

	"petcat/internal/clock"
)

// Clock is the time by which limits count. It follows the wall clock when that
// is set forward, at once; when the wall clock is set back, it goes on from
// where it was, at the pace of the monotonic clock, and stays ahead. So no
// window comes twice, and none lasts longer than its length of elapsed time.
//
// It is the monotonic clock plus the largest difference between wall and
// monotonic clock seen so far: both only grow.
type Clock struct {
	source clock.Clock
	offset atomic.Int64 // nanoseconds; never falls
}

// NewClock returns a limiter's clock that runs on source.
func NewClock(source clock.Clock) *Clock {
	c := &Clock{source: source}
	c.offset.Store(math.MinInt64)
	c.Now()
	return c
}

// Now returns the limiter's time in nanoseconds since the Unix epoch. A call
// that begins after another has returned never gets less. It takes no lock.
func (c *Clock) Now() int64 {
	r := c.source.Read()
	return r.Mono + c.follow(r)
}

// Ahead returns how far the limiter's clock is ahead of the wall clock: by how
// much the wall clock was set back, for as long as it has not caught up.
func (c *Clock) Ahead() time.Duration {
	r := c.source.Read()
	return time.Duration(r.Mono + c.follow(r) - r.Wall)
}

// follow takes a reading into account and returns the offset that holds.
func (c *Clock) follow(r clock.Reading) int64 {
	seen := r.Wall - r.Mono
	for {
		offset := c.offset.Load()
		if seen <= offset {
			return offset
		}
		if c.offset.CompareAndSwap(offset, seen) {
			return seen
		}
	}
}
