package server

import (
	"context"
	"time"
)

// checkInterval is how often a node looks how its backend is: who asks /readyz or
// reads the metrics learns of a failure within this time and that of one query,
// also when nobody makes requests.
const checkInterval = time.Second

func untilCheck() time.Duration { return checkInterval }

// periodic is something that is done in the background until it is closed.
type periodic struct {
	stop    context.CancelFunc
	stopped chan struct{}
}

// startPeriodic calls fn, again and again, each time after what wait returns.
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

// close ends it, if it was started: nil was not.
func (m *periodic) close() {
	if m == nil {
		return
	}
	m.stop()
	<-m.stopped
}
