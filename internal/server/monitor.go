package server

import (
	"context"
	"time"
)

// checkInterval is how often a node looks how its backend is: who asks /readyz or
// reads the metrics learns of a failure within this time and that of one query,
// also when nobody makes requests.
const checkInterval = time.Second

// periodic is something that is done in the background until it is closed.
type periodic struct {
	stop    context.CancelFunc
	stopped chan struct{}
}

func startPeriodic(ctx context.Context, interval time.Duration, fn func(context.Context)) *periodic {
	m := &periodic{stopped: make(chan struct{})}
	ctx, m.stop = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(m.stopped)
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				fn(ctx)
			}
		}
	}()
	return m
}

func (m *periodic) close() {
	m.stop()
	<-m.stopped
}
