// Package ratelimit admits or rejects every authenticated request, and computes the values of the
// rate-limit headers.
//
// A request is charged to two fixed windows of the UTC clock, the minute and the day, in one
// atomic step: to both or to neither. A rejected request is charged to neither. The headers
// describe the moment of the decision.
//
// A single node counts in memory. With several nodes, the database decides ([petcat.QuotaStore]),
// and each node caches the last decisions: it rejects requests without a call while a quota is
// known to be spent, and decides from memory while the database is not responding. Each admitted
// request is in the usage history about a second later; after a start, a single node reads the
// day's usage from it.
//
// A key with too many early retries is banned for a while; see [petcat.Ban]. Requests of a banned
// key are rejected from memory.
//
// Failed credentials are limited by address; see [Bucket].
package ratelimit

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/groupcommit"
)

// Charge is an authenticated request to be admitted or rejected.
type Charge struct {
	Account petcat.AccountID
	Key     petcat.KeyID
	Quota   petcat.Quota // of the account, current
}

func (c Charge) charge() petcat.QuotaCharge {
	return petcat.QuotaCharge{Account: c.Account, Quota: c.Quota}
}

func (c Charge) peek() petcat.QuotaCharge {
	return petcat.QuotaCharge{Account: c.Account, Quota: c.Quota, Peek: true}
}

// Options of a [Limiter].
type Options struct {
	Clock clock.Clock
	// Counters count the requests of all nodes; nil for a single node.
	Counters petcat.QuotaStore
	// DayUsed returns the number of admitted requests of an account on a day, from the usage
	// history. Only a limiter without Counters needs it.
	DayUsed func(ctx context.Context, account petcat.AccountID, day int64) (int64, error)
	BanMode petcat.BanMode
	// Banned is called with each ban that this limiter imposes, including shadow bans. It must
	// not block. SaveBan stores a ban.
	Banned  func(petcat.Ban)
	SaveBan func(ctx context.Context, b petcat.Ban) error
	Logger  *slog.Logger
	// Observe, if not nil, is called with the size and duration of each call of Counters.
	Observe func(requests int, took time.Duration)
}

// Limiter admits and rejects requests. It is safe for concurrent use. Use [New].
type Limiter struct {
	options Options

	bans  *bans
	began int64                            // the day of the start
	calls *groupcommit.Committer[*pending] // of Counters; nil without Counters
	pulse pulse                            // of Counters

	// Local is the number of requests decided in memory because the counters were silent,
	// Overloaded the number of requests rejected because they were not counted in time.
	Local, Overloaded atomic.Uint64

	shards [256]shard
}

// shard holds a part of the recently served accounts.
type shard struct {
	mu       sync.Mutex
	accounts map[petcat.AccountID]*account // guarded by mu
	_        [48]byte                      // one cache line for each
}

// account is the usage of an account that is known to this node.
type account struct {
	minute     int64 // index
	minuteUsed int64
	dayUsed    int64
	dayKnown   bool // without Counters: dayUsed was read from the usage history

	// Of the last answer of the counters: the time by their clock, 0 before the first answer,
	// and the times by this node's clock when the call was sent and answered.
	at             int64
	sent, received clock.Reading
}

const minutesPerDay = 24 * 60

// New starts a limiter. Close stops it.
func New(o Options) *Limiter {
	l := &Limiter{options: o, began: dayOf(o.Clock.Read().Wall)}
	l.bans = &bans{options: o, stop: make(chan struct{}), keys: make(map[petcat.KeyID]*history)}
	for i := range l.shards {
		l.shards[i].accounts = make(map[petcat.AccountID]*account)
	}
	if o.Counters != nil {
		l.pulse.logger = o.Logger
		l.pulse.answer(0)
		l.calls = groupcommit.New(groupcommit.Options[*pending]{
			Commit: l.charge, Expired: expired, Clock: o.Clock, Observe: o.Observe,
			Overtake: overtake, MaxGroup: requestsInCall, Line: groupcommit.NewLine(maxWaiting),
		})
	}
	return l
}

// Close stops the calls of the counters, and waits until bans are saved. Do not call Spend after
// Close.
func (l *Limiter) Close() {
	close(l.bans.stop)
	l.bans.saving.Wait()
	if l.calls != nil {
		l.calls.Close()
	}
}

// Spend charges a request to both windows or to neither, in one atomic step: of N parallel
// requests with a quota of L, exactly min(N, L) are admitted. It returns a [petcat.Error] with
// [petcat.CodeServiceUnavailable] if the request could not be counted in time.
func (l *Limiter) Spend(ctx context.Context, c Charge) (Decision, error) {
	if end := l.bans.end(c.Key); end != 0 {
		u, _ := l.countInMemory(ctx, c.peek()) // without the day's usage, only the ban is known
		return u.Banned(end, c.Key), nil
	}
	u, err := l.count(ctx, c.charge())
	if err != nil || u.Allowed {
		return u.Decide(Allowed, c.Key), err
	}
	return l.bans.refuse(c, u), nil
}

// Peek returns the decision for a request that would arrive now, and charges nothing. It returns
// the same error as Spend.
func (l *Limiter) Peek(ctx context.Context, c Charge) (Decision, error) {
	u, err := l.count(ctx, c.peek())
	if end := l.bans.end(c.Key); end != 0 {
		return u.Banned(end, c.Key), err
	}
	return u.Decide(u.NextOutcome(), c.Key), err
}

// ApplyBan applies a ban that another node imposed, that was lifted, or that was loaded.
func (l *Limiter) ApplyBan(b petcat.Ban) { l.bans.apply(b) }

// count charges a request to a quota: in memory on a single node, while the quota is known to be
// spent, and while the counters are silent.
func (l *Limiter) count(ctx context.Context, q petcat.QuotaCharge) (u Usage, err error) {
	if l.calls != nil {
		var spent bool
		if u, spent = l.spent(q); spent {
			return u, nil
		}
		if u.QuotaCount, err = l.ask(q); errors.Is(err, ErrSilent) {
			l.Local.Add(1)
		}
	}
	if l.calls == nil || errors.Is(err, ErrSilent) {
		u, err = l.countInMemory(ctx, q)
	}
	if errors.Is(err, errOverloaded) || errors.Is(err, groupcommit.ErrFull) {
		l.Overloaded.Add(1)
	}
	if err != nil {
		err = petcat.Errorf(petcat.CodeServiceUnavailable, "requests cannot be counted now; retry in a few seconds").WithCause(err)
	}
	u.Quota = q.Quota
	return u, err
}

// countInMemory charges a request to a quota by this node's counts and clock. A single node first
// reads the day's usage of an account from the usage history.
func (l *Limiter) countInMemory(ctx context.Context, q petcat.QuotaCharge) (u Usage, err error) {
	for known := false; !known && err == nil; {
		l.now(q.Account, func(a *account, now int64) {
			known = a.dayKnown || l.calls != nil
			allowed := known && !q.Peek && a.minuteUsed < q.Quota.PerMinute && a.dayUsed < q.Quota.PerDay
			if allowed {
				a.minuteUsed++
				a.dayUsed++
			}
			u = Usage{petcat.QuotaCount{Now: now, Allowed: allowed, MinuteUsed: a.minuteUsed, DayUsed: a.dayUsed}, q.Quota}
		})
		if !known {
			err = l.learnDay(ctx, q.Account, dayOf(u.Now))
		}
	}
	return u, err
}

// now calls fn with an account in its current windows, under its lock, and with the time by this
// node's clock. Reading the clock under the lock keeps times of an account in order, unless the
// clock is set back. If this clock is up to a minute behind the counters' clock, the account
// stays in the counters' minute.
func (l *Limiter) now(id petcat.AccountID, fn func(a *account, now int64)) {
	l.with(id, func(a *account) {
		now := l.options.Clock.Read().Wall
		if minute := minuteOf(now); l.calls != nil && a.minute == minute+1 {
			now = a.minute * int64(time.Minute)
		} else {
			l.rollOver(a, minute)
		}
		fn(a, now)
	})
}

// rollOver starts a new minute of an account, and a new day if the day changed. The usage of a
// day that began after this node's start is known to begin at zero.
func (l *Limiter) rollOver(a *account, minute int64) {
	if a.minute == minute {
		return
	}
	if day := minute / minutesPerDay; a.minute/minutesPerDay != day {
		a.dayUsed, a.dayKnown = 0, day > l.began
	}
	a.minute, a.minuteUsed = minute, 0
}

// with calls fn with an account under its lock.
func (l *Limiter) with(id petcat.AccountID, fn func(a *account)) {
	// Fibonacci hashing, because ids are consecutive.
	s := &l.shards[uint64(id)*0x9e3779b97f4a7c15>>56]
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.accounts[id]
	if a == nil {
		a = &account{}
		s.accounts[id] = a
	}
	fn(a)
}

// learnDay reads an account's usage of a day from the usage history.
func (l *Limiter) learnDay(ctx context.Context, id petcat.AccountID, day int64) error {
	used, err := l.options.DayUsed(ctx, id, day)
	l.now(id, func(a *account, now int64) {
		if err == nil && dayOf(now) == day {
			a.dayUsed, a.dayKnown = max(a.dayUsed, used), true
		}
	})
	return err
}

// Sweep removes the accounts of past days, and keys without recent bans and early retries.
func (l *Limiter) Sweep() {
	now := l.options.Clock.Read().Wall
	// The counters' clock may be behind this one.
	today := dayOf(now - int64(time.Hour))
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.Lock()
		maps.DeleteFunc(s.accounts, func(_ petcat.AccountID, a *account) bool { return a.minute/minutesPerDay < today })
		s.mu.Unlock()
	}
	l.bans.sweep(now)
}

// Check probes silent counters. Call it about once a second, so that no request waits for the
// probe.
func (l *Limiter) Check() {
	if l.Err() != nil {
		_, _ = l.call(context.Background(), petcat.QuotaCharge{Peek: true}) //nolint:forbidigo // the call has a timeout, and records its own result
	}
}
