package server

import (
	"context"
	"time"
)

// checkInterval is how often a node checks its backend. So /readyz and the metrics show a
// failure within this time and that of one query, even without requests.
const checkInterval = time.Second

func untilCheck() time.Duration { return checkInterval }

// periodic is a function that is called in the background, again and again, until close.
type periodic struct {
	stop    context.CancelFunc
	stopped chan struct{}
}

// startPeriodic calls fn again and again, each time after the duration that wait returns.
// It goes on when ctx ends; close ends it, and the context of fn.
func startPeriodic(ctx context.Context, wait func() time.Duration, fn func(context.Context)) *periodic {
	m := &periodic{stopped: make(chan struct{})}
	ctx, m.stop = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(m.stopped)
		timer := time.NewTimer(wait())
		defer timer.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
				fn(ctx)
				timer.Reset(wait())
			}
		}
	}()
	return m
}

// close stops the calls and waits for the last one. A nil periodic was never started.
func (m *periodic) close() {
	if m == nil {
		return
	}
	m.stop()
	<-m.stopped
}
