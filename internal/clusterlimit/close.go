package clusterlimit

import (
	"context"
	"errors"

	"petcat/internal/ratelimit"
)

// Close implements [ratelimit.Limiter]. It reports what this node admitted by itself,
// and gives back what it leased for that. What is leased for the counters stays with
// them.
func (l *Limiter) Close(ctx context.Context) error {
	l.stop.Do(func() { close(l.stopping) })
	defer context.AfterFunc(ctx, l.giveUp)() // ends the calls that are under way
	l.background.Wait()
	for _, p := range l.partitions {
		p.flush(ctx)
	}
	err := errors.Join(ctx.Err(), l.memory.Close(ctx))
	l.giveUp()
	for _, p := range l.partitions {
		p.calls.Close()
	}
	return err
}

// Stats is what the limiter tells of itself.
type Stats struct {
	// Degraded says that quotas are not enforced as they should be: the counters or the
	// day store are unavailable.
	Degraded bool
	Memory   ratelimit.Stats
	// Requests that the counters decided, that this node decided by itself, and calls of
	// the counters that were not answered in time.
	Shared, Local, Failures int64
}

// Stats returns how the limiter stands.
func (l *Limiter) Stats() Stats {
	st := Stats{Memory: l.memory.Stats(), Shared: l.shared.Load(), Local: l.local.Load(), Failures: l.failures.Load()}
	st.Degraded = l.CutOff() != 0 || l.leaser.store.Unavailable() || st.Memory.Degraded
	return st
}
