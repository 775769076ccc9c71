package logging

import (
	"sync/atomic"
	"time"
)

// Seldom lets one line per second through: during an outage, all requests fail for the same reason.
type Seldom struct {
	next atomic.Int64 // when the next line may be, on the monotonic clock
}

// Allow reports whether a line may be written now, in nanoseconds of the monotonic clock.
func (s *Seldom) Allow(now int64) bool {
	next := s.next.Load()
	return now >= next && s.next.CompareAndSwap(next, now+int64(time.Second))
}
