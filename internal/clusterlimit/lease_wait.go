package clusterlimit

import (
	"context"
	"errors"
	"time"

	"petcat/internal/counters"
	"petcat/internal/ratelimit"
)

// overdraw reports whether the request is to be admitted without a block of the day.
func (r *request) overdraw() bool { return r.overdue || r.l.leaser.store.Unavailable() }

// awaitOthers waits with those requests of the account that lack a block: the counters
// would refuse this one, too.
func (r *request) awaitOthers(ctx context.Context) error {
	if j := r.l.leaser.awaited(r.Account); j != nil && !r.overdraw() {
		return r.await(ctx, j)
	}
	return nil
}

// awaitBlock waits until it makes sense to charge again. The error says why it cannot be
// known how much is left.
func (r *request) awaitBlock(ctx context.Context, o *pendingCharge) error {
	switch {
	case !r.overdraw():
		return r.await(ctx, r.l.leaser.begin(r.Charge, o.facts, o.refused))
	case !o.overdraw:
		return nil // the store has become unavailable since
	case o.facts.Day.Known || r.daySent:
		return ratelimit.ErrStoreSlow // it was charged without a block, and refused all the same
	default:
		return r.sendDay(ctx, o.facts)
	}
}

// await waits until a job was tried. All waits of a request take [ratelimit.LeaseTimeout] at
// most.
func (r *request) await(ctx context.Context, j *job) error {
	if r.timeout == nil {
		r.timeout = time.After(ratelimit.LeaseTimeout)
	}
	if j.late.Load() {
		r.overdue = true
		return nil
	}
	select {
	case <-j.done:
		if j.unanswered {
			return nil // the charge would not be answered either: its wait goes on, with the grant in it
		}
	case <-r.timeout:
		r.overdue = true
		j.late.Store(true)
	case <-ctx.Done():
		return ctx.Err()
	}
	r.since = r.l.stopwatch.Read()
	return nil
}

// sendDay tells the counters, which do not know the account's day, what is known of it
// without a lease: once in an epoch.
func (r *request) sendDay(ctx context.Context, f counters.Facts) error {
	day := dayOf(f.Now)
	count, err := r.dayUsed(ctx, day)
	if err != nil {
		return err
	}
	err = r.l.leaser.grant(r.p, []counters.Grant{{Account: r.Account, Day: day, Series: f.Day.Series, Count: count}})
	_, over := errors.AsType[*counters.WrongEpoch](err)
	r.daySent = !over
	return nil
}
