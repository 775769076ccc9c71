// Package ratelimit decides, for every authenticated request, whether it is admitted, and
// what the caller is told about it.
//
// A request is charged to two fixed windows of the UTC clock, the minute and the day, in
// one step: to both or to neither. A refused request is charged to neither. The headers
// come from the same moment as the decision.
//
// A node that serves alone counts in memory. Where several nodes serve, the database
// decides ([petcat.QuotaStore]), and memory keeps its last answers: they refuse a quota
// that is known to be spent without a call, and decide while the database does not answer.
// Every admitted request is in the usage history about a second later; after a start, the
// use of the day is read there.
//
// A key that goes on sending after refusals is banned for a while; see [petcat.Ban]. A
// banned key is refused from memory.
//
// Wrong credentials are limited by address; see [Bucket].
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

// Charge is one authenticated request that asks to be admitted.
type Charge struct {
	Account petcat.AccountID
	Key     petcat.KeyID
	Quota   petcat.Quota // the account's, as it is now
}

// Options of a [Limiter].
type Options struct {
	Clock clock.Clock
	// Counters count for all nodes; nil: this node serves alone.
	Counters petcat.QuotaStore
	// DayUsed reads from the usage history how many requests an account was admitted on a
	// day. Only a limiter without Counters needs it.
	DayUsed func(ctx context.Context, account petcat.AccountID, day int64) (int64, error)
	Bans    petcat.BanMode
	// Banned is called with each ban that this limiter imposes, shadow bans included. It
	// must not block. SaveBan makes the ban last.
	Banned  func(petcat.Ban)
	SaveBan func(ctx context.Context, b petcat.Ban) error
	Logger  *slog.Logger
	// Observe, if set, is called with the size and the duration of each call of the
	// counters.
	Observe func(requests int, took time.Duration)
}

// Limiter decides who is admitted. It is safe for concurrent use. Use [New].
type Limiter struct {
	Options

	bans  *bans
	began int64                            // the day in which this node began to count
	calls *groupcommit.Committer[*pending] // of the counters; nil without them
	pulse pulse                            // of the counters

	// Local is how many requests were decided in memory because the counters were silent,
	// and Overloaded how many were refused because they could not be counted in time.
	Local, Overloaded atomic.Uint64

	shards [256]shard
}

// shard has some of the accounts that were served lately.
type shard struct {
	mu       sync.Mutex
	accounts map[petcat.AccountID]*account // guarded by mu
	_        [48]byte                      // a cache line each
}

// account is an account's usage as this node knows it.
type account struct {
	minute     int64 // index
	minuteUsed int64
	dayUsed    int64
	dayKnown   bool // without counters: dayUsed was read from the history

	// The counters' clock in their last answer, and this node's when that call was sent
	// and when it was answered. at is 0 before the first answer.
	at          int64
	sent, heard clock.Reading
}

const minutesPerDay = 24 * 60

// New returns a running limiter. Close ends it.
func New(o Options) *Limiter {
	l := &Limiter{Options: o, began: dayOf(o.Clock.Read().Wall)}
	l.bans = &bans{Options: o, stop: make(chan struct{}), keys: make(map[petcat.KeyID]*history)}
	for i := range l.shards {
		l.shards[i].accounts = make(map[petcat.AccountID]*account)
	}
	if o.Counters != nil {
		l.pulse.logger = o.Logger
		l.pulse.heard(0)
		l.calls = groupcommit.New(groupcommit.Options[*pending]{
			Commit: l.charge, Expired: expired, Clock: o.Clock, Observe: o.Observe,
			Overtake: overtake, MaxGroup: requestsInCall, Queue: maxWaiting,
		})
	}
	return l
}

// Close ends the calls of the counters, and waits for the bans that are being saved. No
// Spend may follow.
func (l *Limiter) Close() {
	close(l.bans.stop)
	l.bans.saving.Wait()
	if l.calls != nil {
		l.calls.Close()
	}
}

// Spend charges a request to both windows or to neither, in one atomic step: N parallel
// requests within a quota of L admit exactly min(N, L). Its error is a [petcat.Error] with
// [petcat.CodeServiceUnavailable]: the use of the quota cannot be read, or not in time.
func (l *Limiter) Spend(ctx context.Context, c Charge) (Decision, error) {
	if end := l.bans.end(c.Key); end != 0 {
		u, _ := l.countInMemory(c, petcat.Quota{})
		return u.Banned(end, c.Key), nil
	}
	u, err := l.count(ctx, c, c.Quota)
	if err != nil || u.Admitted {
		return u.Answer(Admitted, c.Key), err
	}
	return l.bans.refuse(c, u), nil
}

// Peek returns the state of an account and a key, and charges nothing: the verdict is that
// of a request that would arrive now. Its error is that of Spend.
func (l *Limiter) Peek(ctx context.Context, c Charge) (Decision, error) {
	u, err := l.count(ctx, c, petcat.Quota{PerDay: c.Quota.PerDay})
	if end := l.bans.end(c.Key); end != 0 {
		return u.Banned(end, c.Key), err
	}
	return u.Answer(u.Verdict(), c.Key), err
}

// ApplyBan makes a ban hold here that was imposed, lifted or loaded elsewhere.
func (l *Limiter) ApplyBan(b petcat.Ban) { l.bans.apply(b) }

// count counts a request within a quota: in memory if this node serves alone, if the quota
// is known to be spent, or if the counters are silent.
func (l *Limiter) count(ctx context.Context, c Charge, within petcat.Quota) (u Usage, err error) {
	if l.calls == nil {
		u, known := l.countInMemory(c, within)
		if known {
			return u, nil
		}
		err = l.learnDay(ctx, c.Account, dayOf(u.Now))
	} else if u, spent := l.spent(c); spent {
		return u, nil
	} else if u.QuotaCount, err = l.ask(petcat.QuotaCharge{Account: c.Account, Quota: within}); err == nil {
		return u, nil
	}
	switch {
	case errors.Is(err, ErrSilent):
		l.Local.Add(1)
	case errors.Is(err, errOverloaded), errors.Is(err, groupcommit.ErrFull):
		l.Overloaded.Add(1)
		fallthrough
	case err != nil:
		return u, petcat.Errorf(petcat.CodeServiceUnavailable, "requests cannot be counted now; retry in a few seconds").WithCause(err)
	}
	u, _ = l.countInMemory(c, within)
	return u, nil
}

// countInMemory counts a request within a quota by what this node knows, and by its clock. If
// this node serves alone and does not know the day, it admits nothing.
func (l *Limiter) countInMemory(c Charge, within petcat.Quota) (u Usage, known bool) {
	l.now(c.Account, func(a *account, now int64) {
		known = a.dayKnown || l.calls != nil
		admitted := known && a.minuteUsed < within.PerMinute && a.dayUsed < within.PerDay
		if admitted {
			a.minuteUsed++
			a.dayUsed++
		}
		u = Usage{petcat.QuotaCount{Now: now, Admitted: admitted, MinuteUsed: a.minuteUsed, DayUsed: a.dayUsed}, c.Quota}
	})
	return u, known
}

// now calls fn with an account in its current windows, under its lock, and with the time
// by this node's clock. The clock is read under the lock, so time does not run backwards
// for an account unless the clock is set back. This clock may be a little behind the
// counters' clock: the minute before the counters' minute counts as theirs.
func (l *Limiter) now(id petcat.AccountID, fn func(a *account, now int64)) {
	l.with(id, func(a *account) {
		now := l.Clock.Read().Wall
		if minute := minuteOf(now); l.calls != nil && a.minute == minute+1 {
			now = a.minute * int64(time.Minute)
		} else {
			l.rollOver(a, minute)
		}
		fn(a, now)
	})
}

// rollOver starts a new minute of an account, and a new day if the day changed. If the day
// started after this node did, its usage is known to start at zero.
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
	// Fibonacci hashing: ids are handed out in sequence.
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

// learnDay reads from the usage history how much of a day of an account is used.
func (l *Limiter) learnDay(ctx context.Context, id petcat.AccountID, day int64) error {
	used, err := l.DayUsed(ctx, id, day)
	l.now(id, func(a *account, now int64) {
		if err == nil && dayOf(now) == day {
			a.dayUsed, a.dayKnown = max(a.dayUsed, used), true
		}
	})
	return err
}

// Sweep drops the accounts of past days, and the keys that behave.
func (l *Limiter) Sweep() {
	now := l.Clock.Read().Wall
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

// Check is to be called about once a second. It finds out whether silent counters answer
// again: no request waits for that.
func (l *Limiter) Check() {
	if l.Err() != nil {
		_, _ = l.call(context.Background(), petcat.QuotaCharge{}) //nolint:forbidigo // it waits for its call; the answer is noted
	}
}
