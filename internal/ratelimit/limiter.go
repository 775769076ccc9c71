// Package ratelimit allows or rejects every authenticated request, and computes the values of the
// rate-limit headers.
//
// A request is charged to two fixed windows of the UTC clock, the minute and the day: to both or to
// neither. A single node counts in memory, and reads a day's earlier usage from the usage history
// (memory.go). With several nodes, the database counts ([petcat.QuotaStore]): requests share calls
// (counters.go), and memory only rejects requests whose quota it knows to be used up. Pure functions
// turn the usage into a decision (decide.go).
//
// Memory decides only while the counters are silent: a call did not get a response for a second, and
// neither did any other call (state.go). One failed call is not enough, so its requests wait for one of
// two events: a response to another call, then they get 503, or silence. After 30 s of silence, all
// requests get 503. So quotas are exact while the database responds, under any load.
//
// A key with too many early retries is banned for a while ([petcat.Ban], bans.go), and failed
// credentials are limited by address ([Bucket]).
package ratelimit

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/groupcommit"
)

// Charge is an authenticated request to be allowed or rejected.
type Charge struct {
	Account petcat.AccountID
	Key     petcat.KeyID
	Quota   petcat.Quota // of the account, current
}

// Options of a [Limiter].
type Options struct {
	Clock clock.Clock
	// Counters count the requests of all nodes; nil for a single node.
	Counters petcat.QuotaStore
	// DayUsed returns the number of allowed requests of an account on a day, from the usage
	// history. Only a limiter without Counters needs it.
	DayUsed func(ctx context.Context, account petcat.AccountID, day int64) (int64, error)
	BanMode petcat.BanMode
	// Banned is called with each ban that this limiter imposes, including shadow bans. It must
	// not block. SaveBan stores a ban.
	Banned  func(petcat.Ban)
	SaveBan func(ctx context.Context, b petcat.Ban) error
	Logger  *slog.Logger
	// NearQuota, if not nil, is called with each request of an account that has passed a mark of its daily
	// quota, see [petcat.PassedMark]. It must not block.
	NearQuota func(account petcat.AccountID, day, used, limit int64)
	// Observe, if not nil, is called with the size and duration of each call of Counters.
	Observe func(requests int, took time.Duration)
}

// Limiter allows and rejects requests. It is safe for concurrent use. Use [New].
type Limiter struct {
	options  Options
	clock    *sharedClock
	memory   *memory
	counters *counters // nil for a single node
	bans     *bans

	// Local is the number of requests decided in memory because the counters were silent. The other
	// fields count rejected requests: Overloaded because too many were queued for the counters, Failed
	// because their call failed or the counters were locked.
	Local, Overloaded, Failed atomic.Uint64
}

// New starts a limiter. Close stops it.
func New(o Options) *Limiter {
	if o.NearQuota == nil {
		o.NearQuota = func(petcat.AccountID, int64, int64, int64) {}
	}
	c := &sharedClock{own: o.Clock}
	l := &Limiter{options: o, clock: c, memory: newMemory(o, c), bans: newBans(o, c)}
	if o.Counters != nil {
		l.counters = newCounters(o, c, l.memory.learn)
	}
	return l
}

// Close stops the calls to the counters, and waits until bans are saved. Do not call Spend after
// Close.
func (l *Limiter) Close() {
	l.bans.close()
	if l.counters != nil {
		l.counters.close()
	}
}

// Err returns [ErrSilent] or [ErrDown] while the counters are silent, else nil.
func (l *Limiter) Err() error {
	if l.counters == nil {
		return nil
	}
	return l.counters.err()
}

// Spend charges a request to both windows or to neither, in one atomic step: of N parallel
// requests with a quota of L, exactly min(N, L) are allowed. It returns a [petcat.Error] with
// [petcat.CodeServiceUnavailable] if the request could not be counted in time.
func (l *Limiter) Spend(ctx context.Context, c Charge) (Decision, error) {
	if end := l.bans.end(c.Key); end != 0 {
		count, _ := l.countInMemory(ctx, c.peek()) // without the day's usage, only the ban is known
		count.Now = min(count.Now, l.clock.earliest())
		return Usage{count, c.Quota}.Banned(end, c.Key), nil
	}
	u, err := l.count(ctx, petcat.QuotaCharge{Account: c.Account, Quota: c.Quota})
	if err != nil {
		return Decision{}, err
	}
	if petcat.PassedMark(u.DayUsed, u.Quota.PerDay) > 0 {
		l.options.NearQuota(c.Account, dayOf(u.Now), u.DayUsed, u.Quota.PerDay)
	}
	if u.Allowed {
		return u.Decide(Allowed, c.Key), nil
	}
	return l.bans.reject(c, u), nil
}

// Peek returns the decision for a request that would arrive now, without charging it. It returns
// the same error as Spend.
func (l *Limiter) Peek(ctx context.Context, c Charge) (Decision, error) {
	u, err := l.count(ctx, c.peek())
	if err != nil {
		return Decision{}, err
	}
	if end := l.bans.end(c.Key); end != 0 {
		return u.Banned(end, c.Key), nil
	}
	return u.Decide(u.NextOutcome(), c.Key), nil
}

func (c Charge) peek() petcat.QuotaCharge {
	return petcat.QuotaCharge{Account: c.Account, Quota: c.Quota, Peek: true}
}

// ApplyBan applies a ban that another node imposed, that was lifted, or that was loaded.
func (l *Limiter) ApplyBan(b petcat.Ban) { l.bans.apply(b) }

// Sweep removes the accounts of past days, and keys without recent bans and early retries.
func (l *Limiter) Sweep() {
	now := l.clock.latest()
	l.memory.sweep(now)
	l.bans.sweep(now)
}

// count counts a request: on a single node in memory, else by the counters, unless the quota is known to
// be used up or the counters are silent. The error is a [petcat.Error].
func (l *Limiter) count(ctx context.Context, q petcat.QuotaCharge) (u Usage, err error) {
	u.Quota = q.Quota
	if l.counters == nil {
		u.QuotaCount, err = l.countInMemory(ctx, q)
	} else {
		u.QuotaCount, err = l.countTogether(ctx, q)
	}
	if err != nil {
		err = petcat.Errorf(petcat.CodeServiceUnavailable,
			"requests cannot be counted now; retry in a few seconds").WithCause(err)
	}
	return u, err
}

// countTogether counts a request of one of several nodes.
func (l *Limiter) countTogether(ctx context.Context, q petcat.QuotaCharge) (petcat.QuotaCount, error) {
	if c, spent := l.memory.spent(q); spent {
		return c, nil
	}
	c, err := l.counters.charge(q)
	switch {
	case errors.Is(err, ErrSilent):
		l.Local.Add(1)
		return l.countInMemory(ctx, q)
	case errors.Is(err, errOverloaded), errors.Is(err, groupcommit.ErrFull):
		l.Overloaded.Add(1)
	case errors.Is(err, errCallFailed), errors.Is(err, errLocked):
		l.Failed.Add(1)
	}
	return c, err
}

// countInMemory counts a request in memory. A single node first reads the day's usage of a new account
// from the usage history.
func (l *Limiter) countInMemory(ctx context.Context, q petcat.QuotaCharge) (petcat.QuotaCount, error) {
	for {
		c, known := l.memory.charge(q)
		if known {
			return c, nil
		}
		day := dayOf(c.Now)
		used, err := l.options.DayUsed(ctx, q.Account, day)
		if err != nil {
			return c, err
		}
		l.memory.learnDay(q.Account, day, used)
	}
}
