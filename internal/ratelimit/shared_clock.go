package ratelimit

import (
	"sync/atomic"

	"github.com/petcat-api/petcat/internal/clock"
)

// sharedClock is the clock of the counters, by which windows and bans go on all nodes. It continues
// the counters' last answer with this node's clock. Before the first answer, and on a single node, it
// is this node's clock.
type sharedClock struct {
	own  clock.Clock
	last atomic.Pointer[timed]
}

// timed is an answer: the counters' time, and when the call was sent and answered by this node's clock.
type timed struct {
	at             int64
	sent, received clock.Reading
}

func (c *sharedClock) learn(at int64, sent, received clock.Reading) {
	c.last.Store(&timed{at, sent, received})
}

// latest returns the latest time that it can be for the counters: a ban that ends then has ended. The
// monotonic clock stops while the machine is suspended, and the wall clock can be set, so the one
// counts that says that more time has passed.
func (c *sharedClock) latest() int64 {
	now, last := c.own.Read(), c.last.Load()
	if last == nil {
		return now.Wall
	}
	return last.at + max(now.Mono-last.sent.Mono, now.Wall-last.sent.Wall)
}

// earliest returns the earliest time that it can be for the counters: a wait that is counted from it is
// never too short.
func (c *sharedClock) earliest() int64 {
	now, last := c.own.Read(), c.last.Load()
	if last == nil {
		return now.Wall
	}
	return last.at + max(0, now.Mono-last.received.Mono)
}
