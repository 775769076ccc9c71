package redislimit

import (
	"sync/atomic"

	"petcat/internal/ratelimit"
)

// counts is what happened since the start.
type counts struct {
	together, alone, failures atomic.Int64
}

// Stats is what a limiter tells of itself.
type Stats struct {
	// Mode says who decides: together, alone or joining.
	Mode string
	// Degraded says that this node counts alone, or that the day store is away.
	Degraded bool
	Together int64 // charges that the server decided
	Alone    int64 // charges that this node decided
	Failures int64 // commands that the server did not answer in time
	// Heard is how many nodes the server heard lately, this one included; 0
	// before the first answer. In a cluster, the fewest.
	Heard int64
	// Memory is of the limiter that decides alone.
	Memory ratelimit.Stats
}

// Stats returns how the limiter stands; meant for a metric that is read every
// few seconds.
func (l *Limiter) Stats() Stats {
	m := l.memory.Stats()
	heard := l.lanes[0].heard.Load()
	for _, ln := range l.lanes {
		heard = min(heard, ln.heard.Load())
	}
	return Stats{
		Mode:     l.Mode(),
		Degraded: l.mode() != together || l.leaser.away.Load() != nil || m.Degraded,
		Together: l.counts.together.Load(),
		Alone:    l.counts.alone.Load(),
		Failures: l.counts.failures.Load(),
		Heard:    heard,
		Memory:   m,
	}
}
