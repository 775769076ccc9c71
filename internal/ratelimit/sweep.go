package ratelimit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"petcat"
)

const (
	sweepEvery = time.Minute
	// idleMinutes is how long an account stays in memory after its last
	// request. Dropping it costs one lease when it comes back.
	idleMinutes = 10
	// maxBacklog bounds the returns that wait for the store: past it, idle
	// accounts stay until it has caught up.
	maxBacklog = 100_000
)

// runSweeps drops what is idle, every minute.
func (m *Memory) runSweeps() {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-m.stopping:
			return
		case <-ticker.C:
		}
		m.sweep()
	}
}

// sweep drops what is idle and gives back what was leased for it.
func (m *Memory) sweep() {
	for i := range m.shards {
		if m.queue.returns.Backlog() > maxBacklog {
			return
		}
		m.queue.giveBack(m.shards[i].sweep(m.clock)...)
	}
}

// Release gives back all that is leased and not used, for when others are going
// to count for a while. What is counted of the minute stays.
func (m *Memory) Release() {
	for i := range m.shards {
		m.queue.giveBack(m.shards[i].release()...)
	}
}

// release makes the shard's accounts ask the store again before they admit.
// Those with a lease under way, or that owe, are left to the sweep.
func (s *shard) release() (returns []petcat.DayReturn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, a := range s.accounts {
		if a.lease != nil || a.dayOwed > 0 {
			continue
		}
		returns = a.unused(id, returns)
		a.dayCount, a.dayFree, a.known = 0, 0, false
	}
	return returns
}

// sweep drops the shard's idle accounts and the keys that no longer matter, and
// returns what was leased for them and not used.
func (s *shard) sweep(clock *Clock) (returns []petcat.DayReturn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := clock.Now()
	idle := petcat.Minute.Index(unixOf(now)) - idleMinutes
	for id, a := range s.accounts {
		// What is under way must be settled first. So must what is owed to the
		// store, and it has a lease under way, unless the store's day is full
		// and has no room for it.
		if a.minute >= idle || a.lease != nil {
			continue
		}
		returns = a.unused(id, returns)
		delete(s.accounts, id)
	}
	for id, o := range s.histories {
		if o.forgettable(now) {
			delete(s.histories, id)
		}
	}
	s.shrink()
	return returns
}

// shrink makes the table of accounts anew when most of it is empty: a map never
// gives memory back by itself. The caller holds s.mu.
func (s *shard) shrink() {
	if s.peak < 64 || len(s.accounts) > s.peak/4 {
		return
	}
	smaller := make(map[petcat.AccountID]*account, len(s.accounts))
	maps.Copy(smaller, s.accounts)
	s.accounts, s.peak = smaller, len(smaller)
}

// Close gives back every unused lease, and records what was admitted while the
// store was unavailable, so that a restart neither loses nor gains a request. Spend
// answers CodeServiceUnavailable from then on.
func (m *Memory) Close(ctx context.Context) error {
	m.stop.Do(func() { close(m.stopping) })
	idle := make(chan struct{})
	go func() {
		m.background.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-ctx.Done():
		m.giveUp() // ends the store's call that is under way
		return fmt.Errorf("closing the limiter: %w", ctx.Err())
	}
	defer m.giveUp()
	unanswered := m.askAgain(ctx)
	owed, returns := m.collect()
	m.queue.returns.Add(returns...)
	if err := m.giveBack(ctx); err != nil {
		return err
	}
	if unanswered != nil {
		return unanswered
	}
	for owed := range slices.Chunk(owed, DayBatch) {
		for _, ask := range owed {
			m.leases.Add(ask, nil)
		}
		if _, _, err := m.leases.Ask(ctx); err != nil {
			return fmt.Errorf("recording requests that were admitted while the store was away: %w", err)
		}
	}
	return nil
}

// askAgain makes the call of the store that was not answered, so that what it
// granted can be given back.
func (m *Memory) askAgain(ctx context.Context) error {
	if len(m.leases.Waiting()) == 0 {
		return nil
	}
	asked, got, err := m.leases.Ask(ctx)
	for i, l := range asked {
		m.settle(l, got[i])
	}
	return err
}

// collect closes the shards and returns what the store is still to be told.
func (m *Memory) collect() (owed []petcat.DayLease, returns []petcat.DayReturn) {
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		s.closed = true
		for id, a := range s.accounts {
			returns = a.unused(id, returns)
			if a.dayOwed > 0 {
				owed = append(owed, petcat.DayLease{Account: id, Day: int64(a.day), Want: a.dayOwed, Quota: petcat.MaxQuota})
			}
			if a.lease != nil {
				a.lease.release()
			}
		}
		s.accounts, s.histories = nil, nil
		s.mu.Unlock()
	}
	return owed, returns
}

// Stats is what a limiter tells of itself.
type Stats struct {
	Accounts int // in memory
	Keys     int // keys remembered because they were refused or banned
	// Degraded says that the store is unavailable, and days are counted in memory.
	Degraded bool
	// Ahead is how far the limiter's clock is ahead of the wall clock.
	Ahead time.Duration
}

// Stats returns how the limiter stands. It looks at every shard: meant for a
// metric that is read every few seconds.
func (m *Memory) Stats() Stats {
	st := Stats{Degraded: m.store.Unavailable(), Ahead: m.clock.Ahead()}
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		st.Accounts += len(s.accounts)
		st.Keys += len(s.histories)
		s.mu.Unlock()
	}
	return st
}
