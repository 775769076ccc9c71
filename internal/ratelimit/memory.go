package ratelimit

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"petcat"
)

// Options of a [Memory].
type Options struct {
	Clock *Clock
	Days  petcat.DayStore
	Bans  petcat.BanMode // "" is EnforceBans
	// Banned is told of every ban that this limiter imposes, with Shadow set
	// when it is only counted. It is called on a request's way and outside of
	// all locks: it must not block. It may be nil.
	Banned func(petcat.Ban)
	Logger *slog.Logger // nil discards
}

// Memory is the limiter of a single node: counts in memory, days leased from a
// store.
type Memory struct {
	clock  *Clock
	days   petcat.DayStore
	bans   petcat.BanMode
	banned func(petcat.Ban)
	logger *slog.Logger

	shards [shardCount]shard
	queue  storeQueue
	leases *DayLeases[*lease] // of runStoreCalls, and of Close after it
	store  DayStoreState

	stopping   chan struct{} // closed by Close
	stop       sync.Once
	background sync.WaitGroup
	// storeCtx is of the background's calls of the store. It ends when Close has
	// waited long enough.
	storeCtx context.Context //nolint:containedctx // the background is no request of anybody
	giveUp   context.CancelFunc
}

var _ Limiter = (*Memory)(nil)

// NewMemory returns a running limiter. Close stops it.
func NewMemory(o Options) *Memory {
	m := &Memory{
		clock:    o.Clock,
		days:     o.Days,
		bans:     o.Bans,
		banned:   o.Banned,
		logger:   o.Logger,
		queue:    storeQueue{wake: make(chan struct{}, 1), returns: NewDayReturns(o.Days)},
		leases:   NewDayLeases[*lease](o.Days),
		stopping: make(chan struct{}),
	}
	if m.bans == "" {
		m.bans = petcat.EnforceBans
	}
	if m.banned == nil {
		m.banned = func(petcat.Ban) {}
	}
	if m.logger == nil {
		m.logger = slog.New(slog.DiscardHandler)
	}
	m.storeCtx, m.giveUp = context.WithCancel(context.Background()) //nolint:forbidigo // leases outlive the requests that ask for them
	m.background.Go(m.runStoreCalls)
	m.background.Go(m.runSweeps)
	return m
}

// Spend implements [Limiter]. It waits only when the day's count is not known
// yet or the leased block is used up, at most LeaseTimeout, for one round of
// the store. The error is a [petcat.Error] with CodeServiceUnavailable.
func (m *Memory) Spend(ctx context.Context, c Charge) (Decision, error) {
	s := m.shard(c.Account)
	next := m.try(s, c, false)
	if next.wait != nil {
		next = m.wait(ctx, s, c, next)
	}
	if next.ban != nil {
		m.banned(*next.ban)
	}
	return next.decision, next.err
}

// wait tries again after each round of the store, until the request is decided.
func (m *Memory) wait(ctx context.Context, s *shard, c Charge, next step) step {
	timeout := time.NewTimer(LeaseTimeout)
	defer timeout.Stop()
	overdue := false
	for next.wait != nil {
		select {
		case <-next.wait:
		case <-timeout.C:
			overdue = true
			m.leave(s, next.lease)
			m.store.MarkFailed(m.logger, ErrStoreSlow, true)
			m.queue.notify()
		case <-ctx.Done():
			m.leave(s, next.lease)
			return step{err: Unavailable(ctx.Err())}
		}
		next = m.try(s, c, overdue)
	}
	return next
}

// step is what a look at the counts leads to: a decision, perhaps with a ban to
// be told of; an error; or a wait for a lease.
type step struct {
	decision Decision
	ban      *petcat.Ban
	err      error
	wait     <-chan struct{}
	lease    *lease // whose end wait tells
}

// try decides a request if it can be decided now: the one atomic step. A
// request that is overdue no longer waits for the store.
func (m *Memory) try(s *shard, c Charge, overdue bool) step {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return step{err: Unavailable(errClosed)}
	}
	// Read under the lock, the clock cannot run backwards for an account.
	now := m.clock.Now()
	a := s.account(c.Account)
	if day, unused := a.rollOver(now); unused > 0 {
		m.queue.giveBack(petcat.DayReturn{Account: c.Account, Day: day, Unused: unused})
	}
	if !a.known {
		if err := m.store.Unreadable(); err != nil {
			m.askLease(s, a, c)
			return step{err: Unavailable(err)}
		}
		if overdue {
			return step{err: Unavailable(ErrStoreSlow)}
		}
		return m.awaitLease(s, a, c)
	}
	u := a.usage(now, c)
	if m.bans == petcat.EnforceBans {
		if ban := s.histories[c.Key].activeBan(now); ban != nil {
			return step{decision: u.Banned(ban.EndsAt.Unix(), c.Key)}
		}
	}
	v := u.Verdict()
	if c.peek {
		return step{decision: u.Answer(v, c.Key)}
	}
	if v == DaySpent && a.stale && !overdue && !m.store.Unavailable() {
		return m.awaitLease(s, a, c)
	}
	if v != Admitted {
		return m.refuse(s, c, u, v)
	}
	switch {
	case a.dayFree > 0:
		a.dayFree--
	case overdue || m.store.Unavailable():
		a.dayOwed++
	default:
		return m.awaitLease(s, a, c)
	}
	if !c.DayOnly {
		a.minuteUsed++
	}
	if a.wantsLease(c.Quota) {
		m.askLease(s, a, c)
	}
	return step{decision: a.usage(now, c).Answer(Admitted, c.Key)}
}

// refuse answers a request that a window refuses, and keeps count of those who
// do not wait. The caller holds s.mu.
func (m *Memory) refuse(s *shard, c Charge, u Usage, v Verdict) step {
	d := u.Answer(v, c.Key)
	if m.bans == petcat.BansOff {
		return step{decision: d}
	}
	o := s.history(c.Account, c.Key)
	if o.activeBan(u.Now) != nil {
		return step{decision: d} // a ban that is only counted; nothing adds to it
	}
	w := petcat.Minute
	if v == DaySpent {
		w = petcat.Day
	}
	early := o.refused(u.Now, w)
	if !d.WarnOrBan(c.Quota, early, m.bans) {
		return step{decision: d}
	}
	ban := o.impose(u.Now, c, early, m.bans)
	if !ban.Shadow {
		d = u.Banned(ban.EndsAt.Unix(), c.Key)
	}
	return step{decision: d, ban: &ban}
}

// BanEnd returns the end (a Unix second) of the ban that a key serves now, at a
// moment of whoever counts its windows, in nanoseconds; 0: it serves none.
func (m *Memory) BanEnd(account petcat.AccountID, key petcat.KeyID, now int64) (end int64) {
	s := m.shard(account)
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.bans == petcat.EnforceBans {
		if ban := s.histories[key].activeBan(now); ban != nil {
			return ban.EndsAt.Unix()
		}
	}
	return 0
}

// Refuse answers a request that the whole quota of a window refuses, for whoever
// counts the windows: it counts early retries, warns and bans.
func (m *Memory) Refuse(c Charge, u Usage, v Verdict) Decision {
	s := m.shard(c.Account)
	s.mu.Lock()
	next := m.refuse(s, c, u, v)
	s.mu.Unlock()
	if next.ban != nil {
		m.banned(*next.ban)
	}
	return next.decision
}

// ApplyBan implements [Limiter]. Without enforcement, shadow bans matter only
// to a limiter in shadow mode; with bans off, none do.
func (m *Memory) ApplyBan(b petcat.Ban) {
	if m.bans == petcat.BansOff || b.Shadow && m.bans == petcat.EnforceBans {
		return
	}
	s := m.shard(b.Account)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := m.clock.Now()
	// What was forgotten here as well is not to be remembered again.
	if known := s.histories[b.Key]; b.Forgotten(time.Unix(0, now)) && (known == nil || known.ban == nil) {
		return
	}
	s.history(b.Account, b.Key).apply(b, now)
}

// shard returns the shard that holds an account and its keys.
func (m *Memory) shard(id petcat.AccountID) *shard {
	// Fibonacci hashing: ids are handed out in sequence.
	return &m.shards[uint64(id)*0x9e3779b97f4a7c15>>54]
}
