package clusterlimit

import (
	"context"
	"time"

	"petcat/internal/counters"
	"petcat/internal/ratelimit"
)

// leaseWait is a request's wait for a block of its account's day.
type leaseWait struct {
	le      *leaser
	charge  ratelimit.Charge
	timeout *time.Timer // nil until it waits
	overdue bool
	told    bool // the counters were told what this node knows of the day
}

func (le *leaser) wait(c ratelimit.Charge) leaseWait { return leaseWait{le: le, charge: c} }

func (w *leaseWait) end() {
	if w.timeout != nil {
		w.timeout.Stop()
	}
}

// overdraw reports whether the request is to be admitted without a block.
func (w *leaseWait) overdraw() bool { return w.overdue || w.le.away.Load() != nil }

// forBlock waits until it makes sense to charge again. The error says why it cannot be
// known how much is left.
func (w *leaseWait) forBlock(ctx context.Context, f counters.Facts, waiters int64) error {
	if w.overdraw() {
		if f.Day.Known {
			return errStore // it was charged without a block, and refused all the same
		}
		return w.tellDay(ctx, f)
	}
	return w.await(ctx, w.le.begin(w.charge, f, waiters))
}

// withOthers waits with those requests of the account that lack a block: the counters
// would refuse this one, too.
func (w *leaseWait) withOthers(ctx context.Context) error {
	if j := w.le.awaited(w.charge.Account); j != nil && !w.overdraw() {
		return w.await(ctx, j)
	}
	return nil
}

// await waits until a job was tried.
func (w *leaseWait) await(ctx context.Context, j *job) error {
	if w.timeout == nil {
		w.timeout = time.NewTimer(leaseTimeout)
	}
	if w.le.isLate(j) {
		w.overdue = true
		return nil
	}
	select {
	case <-j.done:
	case <-w.timeout.C:
		w.overdue = true
		w.le.setLate(j)
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// isLate reports whether somebody has waited for a job in vain.
func (le *leaser) isLate(j *job) bool {
	le.mu.Lock()
	defer le.mu.Unlock()
	return j.late
}

func (le *leaser) setLate(j *job) {
	le.mu.Lock()
	defer le.mu.Unlock()
	j.late = true
}

// tellDay tells the counters, which do not know the account's day, what is known of it
// without a lease: what the store can still read, or what they told this node last.
func (w *leaseWait) tellDay(ctx context.Context, f counters.Facts) error {
	if w.told {
		return errStore
	}
	w.told = true
	day := dayOf(f.Now)
	count, err := w.le.read(ctx, w.charge.Account, day)
	if err != nil {
		known := false
		w.le.l.accounts.with(w.charge.Account, func(a *account) {
			if a.dayKnown && a.day == day {
				known, count = true, a.dayUsed
			}
		})
		if !known {
			return err
		}
	}
	p := w.le.l.partitionOf(w.charge.Account)
	w.le.grant(p, []counters.Grant{{Account: w.charge.Account, Day: day, Series: f.Day.Series, Count: count}})
	return nil
}
