package clusterlimit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"petcat"
	"petcat/internal/counters"
	"petcat/internal/ratelimit"
)

const (
	// leasePatience is how long a request waits for the day store before it goes on
	// without, as in package ratelimit.
	leasePatience = 2 * time.Second
	// storePatience bounds one call of the store: a slow answer still tells what was
	// leased.
	storePatience = 10 * time.Second
	// storeRetry is how long a store that failed is left alone.
	storeRetry = time.Second
	// leasesAtOnce is how many calls of the store may be under way: a slow one does not
	// hold up the others.
	leasesAtOnce = 4
	// grantPatience bounds a grant. Nobody waits for it that could do without.
	grantPatience = timeout
)

var errStore = errors.New("the day store did not answer in time")

// leaser leases blocks of days for the counters, of all accounts that need one in one
// call. A lease names what the counters know to be granted, so that two nodes which
// lease at once lease the same block, and a lease can be repeated.
type leaser struct {
	l    *Limiter
	wake chan struct{} // capacity 1
	free chan struct{} // one for each call that may be made
	away atomic.Pointer[outage]
	last atomic.Pointer[job] // failed; it is tried until the store does its work again

	mu    sync.Mutex
	jobs  map[petcat.AccountID]*job // guarded by mu
	queue []*job                    // not asked for yet; guarded by mu
}

// outage is what is known of a store that does not do its work.
type outage struct {
	err   error
	blind bool // counts cannot be read either
}

// job is a block that this node leases for an account: one at a time. It is guarded by
// the leaser's mu.
type job struct {
	ratelimit.Charge

	facts   counters.Facts
	waiters int64
	late    bool          // somebody has waited in vain
	done    chan struct{} // closed when it was tried
}

func newLeaser(l *Limiter) *leaser {
	return &leaser{l: l, wake: make(chan struct{}, 1), free: make(chan struct{}, leasesAtOnce), jobs: make(map[petcat.AccountID]*job)}
}

// ahead leases the next block when half of one is left.
func (le *leaser) ahead(c ratelimit.Charge, f counters.Facts) {
	half := ratelimit.LeaseBlock(c.Quota) / 2
	crossed := f.Day.Free <= half && (f.Day.Free+f.Admitted > half || f.Day.Free == 0)
	if f.Day.Known && (crossed && f.Day.Count < c.Quota.PerDay || f.Day.Owed > 0) {
		le.begin(c, f)
	}
}

// recheck asks how much of a spent day is used now: others may have given something
// back.
func (le *leaser) recheck(c ratelimit.Charge, f counters.Facts) { le.begin(c, f) }

// begin makes sure that a block is leased for an account.
func (le *leaser) begin(c ratelimit.Charge, f counters.Facts) *job {
	le.mu.Lock()
	defer le.mu.Unlock()
	j := le.jobs[c.Account]
	if j == nil {
		j = &job{Charge: c, done: make(chan struct{})}
		le.jobs[c.Account] = j
		le.queue = append(le.queue, j)
		if le.away.Load() == nil {
			le.poke()
		}
	}
	j.Quota, j.facts = c.Quota, f
	return j
}

func (le *leaser) poke() {
	select {
	case le.wake <- struct{}{}:
	default:
	}
}

// run hands the queue to the store.
func (le *leaser) run() {
	retry := time.NewTicker(storeRetry)
	defer retry.Stop()
	for {
		select {
		case <-le.l.stopping:
			return
		case <-retry.C:
			le.tryAgain()
		case <-le.wake:
		}
		for {
			jobs := le.take()
			if len(jobs) == 0 {
				break
			}
			select {
			case le.free <- struct{}{}:
			case <-le.l.stopping:
				return
			}
			le.l.background.Go(func() {
				defer func() { <-le.free }()
				le.round(jobs)
			})
			if le.away.Load() != nil {
				break // one at a time, until the store does its work again
			}
		}
	}
}

// tryAgain finds out whether a store that failed does its work again.
func (le *leaser) tryAgain() {
	if last := le.last.Load(); last != nil && le.away.Load() != nil {
		le.mu.Lock()
		c, f := last.Charge, last.facts
		le.mu.Unlock()
		le.begin(c, f)
	}
}

// take takes what makes one call.
func (le *leaser) take() []*job {
	le.mu.Lock()
	defer le.mu.Unlock()
	n := min(len(le.queue), ratelimit.DayBatch)
	jobs := le.queue[:n:n]
	le.queue = le.queue[n:]
	return jobs
}

// round leases for jobs, and grants what was leased.
func (le *leaser) round(jobs []*job) {
	leases := make([]petcat.SharedLease, len(jobs))
	le.mu.Lock()
	for i, j := range jobs {
		leases[i] = j.lease()
	}
	le.mu.Unlock()
	ctx, cancel := context.WithTimeout(le.l.lifetime, storePatience)
	defer cancel()
	got, err := le.l.options.Days.LeaseShared(ctx, leases)
	if err == nil && len(got) != len(leases) {
		err = fmt.Errorf("the store answered %d of %d leases", len(got), len(leases))
	}
	if err != nil {
		le.last.Store(jobs[0])
		le.setAway(&outage{err: err})
		le.finish(jobs)
		return
	}
	le.setAway(nil)
	parts := make(map[*partition][]counters.Grant)
	whose := make(map[*partition][]*job)
	for i, j := range jobs {
		p := le.l.partitionOf(j.Account)
		parts[p] = append(parts[p], counters.Grant{
			Account: j.Account, Day: leases[i].Day, Series: leases[i].Series, Granted: got[i].Granted, Count: got[i].Count,
		})
		whose[p] = append(whose[p], j)
	}
	var all sync.WaitGroup
	for p, grants := range parts {
		all.Go(func() {
			le.grant(p, grants)
			le.finish(whose[p])
		})
	}
	all.Wait()
}

// lease returns what the store is asked. Requests that wait are leased for at once, as
// far as the minute admits them: they spend it within the same instant.
func (j *job) lease() petcat.SharedLease {
	d := j.facts.Day
	waiting := min(j.waiters, j.Quota.PerMinute-j.facts.MinuteUsed)
	return petcat.SharedLease{
		Account: j.Account, Day: dayOf(j.facts.Now), Quota: j.Quota.PerDay, Series: d.Series, Granted: d.Granted,
		Want: d.Owed + max(ratelimit.LeaseBlock(j.Quota), waiting),
	}
}

// grant tells a partition what was leased. When that fails, the counters ask again.
func (le *leaser) grant(p *partition, grants []counters.Grant) {
	ctx, cancel := context.WithTimeout(le.l.lifetime, grantPatience)
	defer cancel()
	err := le.l.options.Counters.Grant(ctx, p.number, p.state.Load().epoch, grants)
	if wrong, is := errors.AsType[*counters.WrongEpoch](err); is {
		p.change(func(s state) state { s.epoch = wrong.Now; return s })
	}
}

// finish ends jobs and lets their waiters charge again.
func (le *leaser) finish(jobs []*job) {
	le.mu.Lock()
	defer le.mu.Unlock()
	for _, j := range jobs {
		if le.jobs[j.Account] == j {
			delete(le.jobs, j.Account)
		}
		close(j.done)
	}
}

// setAway records that the store stopped or resumed doing its work. Nobody waits for a
// store that is away.
func (le *leaser) setAway(out *outage) {
	before := le.away.Swap(out)
	switch {
	case before == nil && out != nil:
		le.l.logger.Error("days are counted without the store: it is away", "error", out.err)
		le.mu.Lock()
		queue := le.queue
		le.queue = nil
		le.mu.Unlock()
		le.finish(queue)
	case before != nil && out == nil:
		le.l.logger.Info("days are counted in the store again")
	}
}

// leaseWait is a request's wait for a block of its account's day.
type leaseWait struct {
	le       *leaser
	charge   ratelimit.Charge
	patience *time.Timer // nil until it waits
	overdue  bool
	told     bool // the counters were told what this node knows of the day
}

func (le *leaser) wait(c ratelimit.Charge) leaseWait { return leaseWait{le: le, charge: c} }

func (w *leaseWait) end() {
	if w.patience != nil {
		w.patience.Stop()
	}
}

// overdraw reports whether the request is to be admitted without a block.
func (w *leaseWait) overdraw() bool { return w.overdue || w.le.away.Load() != nil }

// forBlock waits until it makes sense to charge again. The error says why it cannot be
// known how much is left.
func (w *leaseWait) forBlock(ctx context.Context, f counters.Facts) error {
	if w.overdraw() {
		if f.Day.Known {
			return errStore // it was charged without a block, and refused all the same
		}
		return w.tellDay(ctx, f)
	}
	if w.patience == nil {
		w.patience = time.NewTimer(leasePatience)
	}
	j := w.le.begin(w.charge, f)
	if !w.le.join(j) {
		w.overdue = true
		return nil
	}
	select {
	case <-j.done:
	case <-w.patience.C:
		w.overdue = true
		w.le.isLate(j)
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// join makes a request one of those that wait, unless somebody has waited in vain.
func (le *leaser) join(j *job) bool {
	le.mu.Lock()
	defer le.mu.Unlock()
	j.waiters++
	return !j.late
}

func (le *leaser) isLate(j *job) {
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

// read reads a day's count, unless that has just failed.
func (le *leaser) read(ctx context.Context, account petcat.AccountID, day int64) (int64, error) {
	if out := le.away.Load(); out != nil && out.blind {
		return 0, out.err
	}
	ctx, cancel := context.WithTimeout(ctx, leasePatience)
	defer cancel()
	count, err := le.l.options.Days.DayCount(ctx, account, day)
	if err != nil && ctx.Err() == nil {
		le.setAway(&outage{err: fmt.Errorf("reading the day's count: %w", err), blind: true})
	}
	return count, err
}

// tomorrow leases the first blocks of tomorrow. What fails is leased when it is needed.
func (le *leaser) tomorrow(p *partition, leases []petcat.SharedLease) {
	for leases := range slices.Chunk(leases, ratelimit.DayBatch) {
		if le.away.Load() != nil {
			return
		}
		ctx, cancel := context.WithTimeout(le.l.lifetime, storePatience)
		got, err := le.l.options.Days.LeaseShared(ctx, leases)
		cancel()
		if err != nil || len(got) != len(leases) {
			return
		}
		grants := make([]counters.Grant, len(leases))
		for i, lease := range leases {
			grants[i] = counters.Grant{Account: lease.Account, Day: lease.Day, Series: lease.Series, Granted: got[i].Granted, Count: got[i].Count}
		}
		le.grant(p, grants)
	}
}
