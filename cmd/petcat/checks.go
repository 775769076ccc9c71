package main

import (
	"context"
	"time"
)

// checkEvery is how often a node looks how its backend is: who asks /readyz or
// reads the metrics learns of a failure within this time and that of one question,
// also when nobody makes requests.
const checkEvery = time.Second

// checks look at a backend in the background until they are closed.
type checks struct {
	stop    context.CancelFunc
	stopped chan struct{}
}

func startChecks(ctx context.Context, check func(context.Context)) *checks {
	c := &checks{stopped: make(chan struct{})}
	ctx, c.stop = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(c.stopped)
		ticker := time.NewTicker(checkEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				check(ctx)
			}
		}
	}()
	return c
}

func (c *checks) close() {
	c.stop()
	<-c.stopped
}
