package clusterlimit

import (
	"context"
	"time"
)

func (m mode) String() string { return [...]string{"closed", "half-open", "open"}[m] }

// StartVirtual starts a limiter in made-up time, whose requests wait for the counters
// for as long as the machine needs.
func StartVirtual(ctx context.Context, o Options) *Limiter {
	o.timeout = 10 * time.Second
	return New(ctx, o)
}

// Probe asks the counters for the time and the epoch.
func (l *Limiter) Probe() {
	for _, p := range l.partitions {
		p.probe(l.lifetime, time.Second)
	}
}
