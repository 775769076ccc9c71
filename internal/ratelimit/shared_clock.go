package ratelimit

import (
	"sync/atomic"

	"github.com/petcat-api/petcat/internal/clock"
)

// sharedClock is the counters' clock, which determines windows and bans on all nodes. It extrapolates the
// counters' last response with this node's clock. Before the first response, and on a single node, it is
// this node's clock.
type sharedClock struct {
	own  clock.Clock
	last atomic.Pointer[timed]
}

// timed is a response: the counters' time, and the times by this node's clock when the call was sent and
// returned.
type timed struct {
	at             int64
	sent, received clock.Reading
}

func (c *sharedClock) learn(at int64, sent, received clock.Reading) {
	c.last.Store(&timed{at, sent, received})
}

// latest returns the latest time that the counters' clock may show: a ban that ends then is over. The
// monotonic clock stops while the machine is suspended, and the wall clock can be set, so it uses the
// clock by which more time has passed.
func (c *sharedClock) latest() int64 {
	now, last := c.own.Read(), c.last.Load()
	if last == nil {
		return now.Wall
	}
	return last.at + max(now.Mono-last.sent.Mono, now.Wall-last.sent.Wall)
}

// earliest returns the earliest time that the counters' clock may show: a wait from then on is never too
// short.
func (c *sharedClock) earliest() int64 {
	now, last := c.own.Read(), c.last.Load()
	if last == nil {
		return now.Wall
	}
	return last.at + max(0, now.Mono-last.received.Mono)
}
