package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"petcat"
)

var errClosed = errors.New("the limiter is closed")

// Unavailable is the answer when it cannot be known how much is left.
func Unavailable(cause error) error {
	return petcat.Errorf(petcat.CodeServiceUnavailable, "today's requests cannot be counted at the moment; retry in a few seconds").WithCause(cause)
}

// SetDayUsed tells what was used of an account's day when somebody else counted it
// last. It holds while the store has not told: an account that is known goes on
// without the store, as far as its quota reaches, and owes.
func (m *Memory) SetDayUsed(id petcat.AccountID, day, used int64) {
	s := m.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	a := s.account(id)
	if over, unused := a.rollOver(m.clock.Now()); unused > 0 {
		m.queue.giveBack(petcat.DayReturn{Account: id, Day: over, Unused: unused})
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
		m.queue.ask(a.lease)
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

// storeQueue is what the store is to be asked, in the order in which it came up.
type storeQueue struct {
	wake    chan struct{} // capacity 1
	returns *DayReturns

	mu     sync.Mutex
	leases []*lease // guarded by mu
}

func (e *storeQueue) notify() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

func (e *storeQueue) ask(l *lease) {
	e.mu.Lock()
	e.leases = append(e.leases, l)
	e.mu.Unlock()
	e.notify()
}

func (e *storeQueue) giveBack(r ...petcat.DayReturn) {
	if len(r) == 0 {
		return
	}
	e.returns.Add(r...)
	e.notify()
}

// takeLeases returns and forgets which leases came up.
func (e *storeQueue) takeLeases() []*lease {
	e.mu.Lock()
	defer e.mu.Unlock()
	leases := e.leases
	e.leases = nil
	return leases
}

// runStoreCalls is the one goroutine that talks to the store.
func (m *Memory) runStoreCalls() {
	retry := time.NewTimer(StoreRetry)
	retry.Stop()
	defer retry.Stop()
	var refused []*lease // not asked for yet, because the store failed; oldest first
	failing := false     // retry is set
	for {
		due := false
		select {
		case <-m.stopping:
			return
		case <-retry.C:
			due = true
		case <-m.queue.wake:
		}
		leases, rest := m.queue.takeLeases(), failing && !due
		if rest && m.store.Unavailable() {
			m.goOnWithout(leases)
			refused = append(refused, leases...)
			continue
		}
		returned := rest || m.giveBack(m.storeCtx) == nil
		var leased bool
		refused, leased = m.lease(append(refused, leases...))
		if !returned || !leased {
			failing = true
			retry.Reset(StoreRetry)
		} else if due {
			failing = false
		}
	}
}

// giveBack returns what was leased and not used. What the store does not take
// counts as used until it does.
func (m *Memory) giveBack(ctx context.Context) error {
	err := m.queue.returns.Send(ctx, m.gaveBack)
	if err != nil {
		m.logger.Warn("the rest of a day lease could not be returned", "accounts", m.queue.returns.Backlog(), "error", err)
	}
	return err
}

// gaveBack makes accounts that have come back meanwhile ask again when their day
// seems spent: the count that they know may hold what was given back.
func (m *Memory) gaveBack(returns []petcat.DayReturn) {
	for _, r := range returns {
		s := m.shard(r.Account)
		s.mu.Lock()
		if a := s.accounts[r.Account]; a != nil && int64(a.day) == r.Day {
			a.stale = true
		}
		s.mu.Unlock()
	}
}

// lease asks the store for leases, and returns those that it was not asked for
// because it failed. A call that was not answered comes first.
func (m *Memory) lease(leases []*lease) (refused []*lease, ok bool) {
	for len(leases) > 0 || len(m.leases.Waiting()) > 0 {
		if len(m.leases.Waiting()) == 0 {
			n := min(len(leases), DayBatch)
			for _, l := range leases[:n] {
				if ask, ok := l.want(); ok {
					m.leases.Add(ask, l)
				}
			}
			leases = leases[n:]
			continue
		}
		asked, got, err := m.leases.Ask(m.storeCtx)
		if err != nil {
			// The rest of the queue would meet the same failure, one time-out
			// after the other.
			m.store.MarkFailed(m.logger, err, false)
			m.goOnWithout(slices.Concat(m.leases.Waiting(), leases))
			return leases, false
		}
		for i, l := range asked {
			m.settle(l, got[i])
		}
	}
	m.store.MarkWorking(m.logger)
	return nil, true
}

// settle hands a granted lease to its account, or back to the store when the
// day turned meanwhile.
func (m *Memory) settle(l *lease, got petcat.DayLeased) {
	l.shard.mu.Lock()
	defer l.shard.mu.Unlock()
	if l.current() {
		a := l.account
		a.granted(got)
		a.lease = nil
		if a.dayOwed > 0 && a.dayCount < l.quota.PerDay {
			// More was admitted since the store was first asked.
			m.askLease(l.shard, a, Charge{Account: l.id, Quota: l.quota})
		}
	} else if got.Granted > 0 {
		m.queue.giveBack(petcat.DayReturn{Account: l.id, Day: l.day, Unused: got.Granted})
	}
	l.release()
}

// goOnWithout makes the accounts of leases that the store did not grant ready
// for going on from memory, as far as their counts are known or can be read.
func (m *Memory) goOnWithout(leases []*lease) {
	unreadable := m.store.Unreadable() != nil
	for _, l := range leases {
		if !unreadable {
			if err := m.readCount(l); err != nil {
				unreadable = true // the others are not made to wait for the same
				m.store.MarkFailed(m.logger, fmt.Errorf("reading the day's count: %w", err), true)
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
	ctx, cancel := context.WithTimeout(ctx, StoreTimeout)
	defer cancel()
	return fn(ctx)
}
