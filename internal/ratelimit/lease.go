package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"petcat"
)

var (
	errSlow   = errors.New("the store did not answer in time")
	errClosed = errors.New("the limiter is closed")
)

// Unavailable is the answer when it cannot be known how much is left.
func Unavailable(cause error) error {
	return petcat.Errorf(petcat.CodeServiceUnavailable, "today's requests cannot be counted at the moment; retry in a few seconds").Because(cause)
}

// StoreAway reports whether days are counted without the store.
func (m *Memory) StoreAway() bool { return m.away.Load() != nil }

// Learn tells what was used of an account's day when somebody else counted it
// last. It holds while the store has not told: an account that is known goes on
// without the store, as far as its quota reaches, and owes.
func (m *Memory) Learn(id petcat.AccountID, day, used int64) {
	s := m.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	a := s.account(id)
	if over, unused := a.turn(m.clock.Now()); unused > 0 {
		m.errand.giveBack(petcat.DayReturn{Account: id, Day: over, Unused: unused})
	}
	if !a.known && int64(a.day) == day {
		a.known, a.dayCount = true, used
	}
}

// lease is a block that an account asks the store for. An account has at most
// one; when the day turns it is cut off from its account, and what it brings
// goes back.
type lease struct {
	shard   *shard
	account *account
	id      petcat.AccountID
	day     int64

	quota   petcat.Quota  // as the last request knew it; guarded by shard.mu
	waiters int64         // requests that wait; guarded by shard.mu
	done    chan struct{} // closed after each round of the store; made for waiters; guarded by shard.mu
}

// askLease makes sure that a lease is asked for. The caller holds s.mu.
func (m *Memory) askLease(s *shard, a *account, c Charge) *lease {
	if a.lease == nil {
		a.lease = &lease{shard: s, account: a, id: c.Account, day: int64(a.day)}
		m.errand.ask(a.lease)
	}
	a.lease.quota = c.Quota
	return a.lease
}

// awaitLease makes a request wait for a lease. The caller holds s.mu.
func (m *Memory) awaitLease(s *shard, a *account, c Charge) step {
	l := m.askLease(s, a, c)
	if l.done == nil {
		l.done = make(chan struct{})
	}
	l.waiters++
	return step{wait: l.done, lease: l}
}

// leave tells a lease that a request no longer waits for it.
func (m *Memory) leave(s *shard, l *lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.waiters = max(0, l.waiters-1)
}

// release lets the waiters look again. The caller holds shard.mu.
func (l *lease) release() {
	if l.done != nil {
		close(l.done)
		l.done = nil
	}
	l.waiters = 0
}

// current reports whether the lease is still its account's. The caller holds
// shard.mu.
func (l *lease) current() bool { return l.account.lease == l }

// want returns what to ask the store for now; ok is false when the day has
// turned and nothing is to be asked. Requests that wait are leased for at once,
// as far as the minute admits them: they spend it within the same instant.
func (l *lease) want() (ask petcat.DayLease, ok bool) {
	l.shard.mu.Lock()
	defer l.shard.mu.Unlock()
	if !l.current() {
		l.release()
		return petcat.DayLease{}, false
	}
	a := l.account
	waiting := min(l.waiters, l.quota.PerMinute-a.minuteUsed)
	n := a.dayOwed + max(LeaseBlock(l.quota), waiting)
	return petcat.DayLease{Account: l.id, Day: l.day, Want: n, Quota: l.quota.PerDay}, true
}

// errands is what the store is to be asked, in the order in which it came up.
type errands struct {
	wake chan struct{} // capacity 1

	mu      sync.Mutex
	leases  []*lease           // guarded by mu
	returns []petcat.DayReturn // guarded by mu
}

func (e *errands) poke() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

func (e *errands) ask(l *lease) {
	e.mu.Lock()
	e.leases = append(e.leases, l)
	e.mu.Unlock()
	e.poke()
}

func (e *errands) giveBack(r ...petcat.DayReturn) {
	e.mu.Lock()
	e.returns = append(e.returns, r...)
	e.mu.Unlock()
	e.poke()
}

// take returns and forgets what came up.
func (e *errands) take() (leases []*lease, returns []petcat.DayReturn) {
	e.mu.Lock()
	defer e.mu.Unlock()
	leases, returns = e.leases, e.returns
	e.leases, e.returns = nil, nil
	return leases, returns
}

// backlog returns how many returns wait for the store.
func (e *errands) backlog() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.returns)
}

const (
	// errandRetry is how long a store that failed is left alone.
	errandRetry = time.Second
	// storePatience bounds one call of the store. It is longer than a request
	// waits: a slow answer still tells what was leased.
	storePatience = 10 * time.Second
	// errandBatch is how many leases make one call, so that the first of a
	// midnight's many do not wait for the last.
	errandBatch = 1_000
)

// runErrands is the one goroutine that talks to the store.
func (m *Memory) runErrands() {
	retry := time.NewTimer(errandRetry)
	retry.Stop()
	defer retry.Stop()
	var refused []*lease // the store failed to grant them; oldest first
	failing := false     // retry is set
	for {
		due := false
		select {
		case <-m.stopping:
			return
		case <-retry.C:
			due = true
		case <-m.errand.wake:
		}
		leases, returns := m.errand.take()
		if failing && !due {
			m.requeue(returns)
			returns = nil
			if out := m.away.Load(); out != nil {
				m.goOnWithout(leases, out.blind)
				refused = append(refused, leases...)
				continue
			}
		}
		returned := m.giveBack(m.storeCtx, returns)
		var leased bool
		refused, leased = m.lease(append(refused, leases...))
		if !returned || !leased {
			failing = true
			retry.Reset(errandRetry)
		} else if due {
			failing = false
		}
	}
}

// requeue keeps returns for the next attempt, without waking anybody for them.
func (m *Memory) requeue(returns []petcat.DayReturn) {
	m.errand.mu.Lock()
	defer m.errand.mu.Unlock()
	m.errand.returns = append(returns, m.errand.returns...)
}

// giveBack returns what was leased and not used. What the store does not take
// is kept for later: until then it counts as used, so no quota is passed.
func (m *Memory) giveBack(ctx context.Context, returns []petcat.DayReturn) bool {
	for len(returns) > 0 {
		n := min(len(returns), errandBatch)
		if err := m.call(ctx, func(ctx context.Context) error { return m.days.ReturnDays(ctx, returns[:n]) }); err != nil {
			m.logger.Warn("unused requests of the day could not be given back", "accounts", len(returns), "error", err)
			m.requeue(returns)
			return false
		}
		returns = returns[n:]
	}
	return true
}

// lease asks the store for leases, and returns those that it failed to grant.
func (m *Memory) lease(leases []*lease) (refused []*lease, ok bool) {
	for len(leases) > 0 {
		n := min(len(leases), errandBatch)
		asked, err := m.leaseBatch(leases[:n])
		if err != nil {
			// The rest of the queue would meet the same failure, one time-out
			// after the other.
			refused = append(asked, leases[n:]...)
			m.setAway(&outage{err: err})
			m.goOnWithout(refused, false)
			return refused, false
		}
		leases = leases[n:]
	}
	m.setAway(nil)
	return nil, true
}

// leaseBatch makes one call. It returns the leases that were asked for.
func (m *Memory) leaseBatch(leases []*lease) (asked []*lease, err error) {
	asks := make([]petcat.DayLease, 0, len(leases))
	asked = make([]*lease, 0, len(leases))
	for _, l := range leases {
		if ask, ok := l.want(); ok {
			asks, asked = append(asks, ask), append(asked, l)
		}
	}
	if len(asks) == 0 {
		return nil, nil
	}
	var got []petcat.DayLeased
	err = m.call(m.storeCtx, func(ctx context.Context) (err error) {
		got, err = m.days.LeaseDays(ctx, asks)
		return err
	})
	if err == nil && len(got) != len(asks) {
		err = fmt.Errorf("the store answered %d of %d leases", len(got), len(asks))
	}
	if err != nil {
		return asked, fmt.Errorf("leasing requests of the day: %w", err)
	}
	for i, l := range asked {
		m.settle(l, got[i])
	}
	return asked, nil
}

// settle hands a granted lease to its account, or back to the store when the
// day turned meanwhile.
func (m *Memory) settle(l *lease, got petcat.DayLeased) {
	l.shard.mu.Lock()
	defer l.shard.mu.Unlock()
	if l.current() {
		l.account.granted(got)
		l.account.lease = nil
	} else if got.Granted > 0 {
		m.errand.giveBack(petcat.DayReturn{Account: l.id, Day: l.day, Unused: got.Granted})
	}
	l.release()
}

// goOnWithout makes the accounts of leases that the store did not grant ready
// for going on from memory, as far as their counts are known or can be read.
func (m *Memory) goOnWithout(leases []*lease, blind bool) {
	for _, l := range leases {
		if !blind {
			if err := m.readCount(l); err != nil {
				blind = true // the others are not made to wait for the same
				m.setAway(&outage{err: fmt.Errorf("reading the day's count: %w", err), blind: true})
			}
		}
		l.shard.mu.Lock()
		l.release()
		l.shard.mu.Unlock()
	}
}

// readCount learns the count of a lease's account unless it is known.
func (m *Memory) readCount(l *lease) error {
	l.shard.mu.Lock()
	needed := l.current() && !l.account.known
	l.shard.mu.Unlock()
	if !needed {
		return nil
	}
	var count int64
	err := m.call(m.storeCtx, func(ctx context.Context) (err error) {
		count, err = m.days.DayCount(ctx, l.id, l.day)
		return err
	})
	if err != nil {
		return err
	}
	l.shard.mu.Lock()
	defer l.shard.mu.Unlock()
	if l.current() {
		l.account.dayCount, l.account.known = count, true
	}
	return nil
}

// call runs one call of the store with a bound on its time.
func (m *Memory) call(ctx context.Context, fn func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, storePatience)
	defer cancel()
	return fn(ctx)
}

// setAway records that the store stopped or resumed doing its work.
func (m *Memory) setAway(out *outage) {
	before := m.away.Swap(out)
	switch {
	case before == nil && out != nil:
		m.logger.LogAttrs(m.storeCtx, slog.LevelError, "days are counted in memory alone: the store is away", slog.Any("error", out.err))
	case before != nil && out == nil:
		m.logger.LogAttrs(m.storeCtx, slog.LevelInfo, "days are counted in the store again")
	}
}
