package clusterlimit

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"petcat/internal/clock"
)

// stopwatch times what requests wait for the counters, in the machine's time also
// where the time is made. It is a [clock.Clock] that does not count pauses of this
// process, as when its machine is moved or its container has used up its share of
// the processor: what the server answered meanwhile has arrived and not been read,
// and a node that took it for lost would admit on its own what others were admitted.
//
// Every request that waits looks at it from time to time; where none has looked for long,
// the process stood still.
type stopwatch struct {
	source clock.Clock
	every  time.Duration // how often who waits looks
	pause  time.Duration // a longer time without a look is a pause, and counts as every

	last atomic.Int64 // the source's time at the last look

	mu      sync.Mutex   // held to change the following
	skipped atomic.Int64 // how long the pauses were that do not count
}

// newStopwatch returns a stopwatch for waits that are as long as timeout.
func newStopwatch(source clock.Clock, timeout time.Duration) *stopwatch {
	s := &stopwatch{source: source, every: timeout / 5, pause: timeout / 2}
	s.last.Store(source.Read().Mono)
	return s
}

// Read implements [clock.Clock]: Mono is as described, and Wall the source's.
func (s *stopwatch) Read() clock.Reading {
	r := s.source.Read()
	if gap := r.Mono - s.last.Load(); gap > int64(s.pause) {
		s.skip(r.Mono)
	} else if gap > int64(s.every)/4 { // seldom, so that processors need not pass it around
		s.last.Store(r.Mono)
	}
	r.Mono -= s.skipped.Load()
	return r
}

// skip takes a pause out that ended just before now. Who looks at the same time
// waits for that, because the look is noted last.
func (s *stopwatch) skip(now int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if gap := now - s.last.Load(); gap > int64(s.pause) {
		s.skipped.Add(gap - int64(s.every))
		s.last.Store(now)
	}
}

// answerTimeout is how long an answer is listened for. It is that much longer than a
// request waits because of pauses of this process, which do not count.
const answerTimeout = time.Second

// within returns a context for one call of the counters. It ends when timeout has passed
// on the stopwatch since a moment, or when stop is called.
func (s *stopwatch) within(ctx context.Context, since clock.Reading, timeout time.Duration) (call context.Context, stop func()) {
	ctx, cancel := context.WithTimeout(ctx, max(answerTimeout, timeout))
	var timer *time.Timer
	timer = time.AfterFunc(answerTimeout, func() {
		if left := timeout - s.Read().Since(since); left > 0 {
			timer.Reset(min(left, s.every))
		} else {
			cancel()
		}
	})
	timer.Reset(s.every)
	return ctx, func() {
		timer.Stop()
		cancel()
	}
}
