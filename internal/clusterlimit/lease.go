package clusterlimit

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"petcat"
	"petcat/internal/counters"
	"petcat/internal/ratelimit"
)

const (
	// leasesAtOnce is how many calls of the store may be under way: a slow one does not
	// hold up the others.
	leasesAtOnce = 4
	// mostForgotten is of how many series that the counters have forgotten a job keeps what
	// is owed.
	mostForgotten = 8
)

// leaser leases blocks of days for the counters, of all accounts that need one in one
// call. A lease names what the counters know to be granted, so that two nodes which
// lease at once lease the same block, and a lease can be repeated.
type leaser struct {
	l      *Limiter
	wake   chan struct{}    // capacity 1
	retry  <-chan time.Time // ticks
	store  ratelimit.DayStoreState
	waited atomic.Int64 // jobs for which requests wait

	mu    sync.Mutex
	jobs  map[petcat.AccountID]*job // guarded by mu
	queue []*job                    // not asked for yet; guarded by mu
}

// job is a block that this node leases for an account: one at a time. It is guarded by
// the leaser's mu until it is done.
type job struct {
	ratelimit.Charge

	// facts are what the counters told: last, and before of each series in which something
	// is owed that they have forgotten. The first is leased first.
	facts      []counters.Facts
	waiters    int64
	late       atomic.Bool   // somebody has waited in vain
	done       chan struct{} // closed when it was tried
	unanswered bool          // the counters did not answer the grant; set before done is closed
}

// ahead leases the next block when half of one is left.
func (le *leaser) ahead(c ratelimit.Charge, f counters.Facts) {
	half := ratelimit.LeaseBlock(c.Quota) / 2
	crossed := f.Day.Free <= half && (f.Day.Free+f.Admitted > half || f.Day.Free == 0)
	if f.Day.Known && (crossed && f.Day.Count < c.Quota.PerDay || f.Day.Owed > 0) {
		le.begin(c, f, 0)
	}
}

// begin makes sure that a block is leased for an account, for which so many requests
// wait.
func (le *leaser) begin(c ratelimit.Charge, f counters.Facts, waiters int64) *job {
	le.mu.Lock()
	defer le.mu.Unlock()
	j := le.jobs[c.Account]
	if j == nil {
		j = &job{Charge: c, done: make(chan struct{})}
		le.jobs[c.Account] = j
		le.queue = append(le.queue, j)
		le.notify()
	}
	if waiters > 0 && j.waiters == 0 {
		le.waited.Add(1)
	}
	j.waiters = max(j.waiters, waiters)
	j.tell(c.Quota, f)
	return j
}

// tell has a job go by other facts, unless it knows later ones. It keeps those of a series
// in which something is owed and that the counters have forgotten: nobody else may know it.
func (j *job) tell(q petcat.Quota, f counters.Facts) {
	same := func(o counters.Facts) bool { return o.Day.Series == f.Day.Series }
	if slices.ContainsFunc(j.facts, func(o counters.Facts) bool { return o.Now > f.Now && (same(o) || f.Day.Owed == 0) }) {
		return
	}
	j.Quota = q
	j.facts = append(slices.DeleteFunc(j.facts, func(o counters.Facts) bool {
		return same(o) || o.Day.Owed == 0 || dayOf(o.Now) != dayOf(f.Now)
	}), f)
	j.facts = j.facts[max(0, len(j.facts)-mostForgotten-1):]
}

// left takes note of a grant, and reports whether facts of the job say that something is to
// be leased still: they are of another series, more was admitted meanwhile, or another node
// had leased that knew of less.
func (j *job) left(f *counters.Facts, g counters.Grant) bool {
	if f.Day.Series != g.Series {
		return true
	}
	more := max(0, g.Granted-f.Day.Granted)
	f.Day.Granted, f.Day.Owed = f.Day.Granted+more, f.Day.Owed-more
	return f.Day.Owed > 0 && g.Count < j.Quota.PerDay
}

// awaited returns the job for which requests of an account wait, nil if none do.
func (le *leaser) awaited(id petcat.AccountID) *job {
	if le.waited.Load() == 0 {
		return nil
	}
	le.mu.Lock()
	defer le.mu.Unlock()
	if j := le.jobs[id]; j != nil && j.waiters > 0 {
		return j
	}
	return nil
}

// notify has the queue handed to the store now. A store that failed is left alone.
func (le *leaser) notify() {
	if le.store.Unavailable() {
		return
	}
	select {
	case le.wake <- struct{}{}:
	default:
	}
}

// run hands the queue to the store, one call after the other. Several goroutines do: a
// slow call does not hold up the others.
func (le *leaser) run() {
	for {
		select {
		case <-le.l.stopping:
			return
		case <-le.wake:
		case <-le.retry:
		}
		runtime.Gosched() // the others that were refused in the same call come along
		if jobs := le.take(); len(jobs) > 0 {
			le.round(jobs)
		}
	}
}

// take takes what makes one call.
func (le *leaser) take() []*job {
	le.mu.Lock()
	defer le.mu.Unlock()
	n := min(len(le.queue), ratelimit.DayBatch)
	jobs := le.queue[:n:n]
	if le.queue = le.queue[n:]; len(le.queue) > 0 {
		le.notify()
	}
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
	grants, err := le.call(leases)
	if err != nil {
		le.failed(err, false, jobs)
		return
	}
	le.worked()
	parts := make(map[*partition][]counters.Grant)
	whose := make(map[*partition][]*job)
	for i, j := range jobs {
		p := le.l.partitionOf(j.Account)
		parts[p] = append(parts[p], grants[i])
		whose[p] = append(whose[p], j)
	}
	var all sync.WaitGroup
	for p, grants := range parts {
		all.Go(func() { le.finish(whose[p], grants, le.grant(p, grants)) })
	}
	all.Wait()
}

// call has the store lease, and returns what is to be granted for each lease.
func (le *leaser) call(leases []petcat.SharedLease) ([]counters.Grant, error) {
	ctx, cancel := context.WithTimeout(le.l.lifetime, ratelimit.StoreTimeout)
	defer cancel()
	got, err := le.l.options.Days.LeaseShared(ctx, leases)
	if err != nil {
		return nil, err
	}
	grants := make([]counters.Grant, len(leases))
	for i, lease := range leases {
		grants[i] = counters.Grant{Account: lease.Account, Day: lease.Day, Series: lease.Series, Granted: got[i].Granted, Count: got[i].Count}
	}
	return grants, nil
}

// lease returns what the store is asked. Requests that wait are leased for at once, as
// far as the minute admits them: they spend it within the same instant. Where some wait,
// others do on other nodes: they are leased for, too, up to a hundredth of the day.
func (j *job) lease() petcat.SharedLease {
	f := j.facts[0]
	want := ratelimit.LeaseBlock(j.Quota)
	if j.waiters > 0 {
		want = max(want, j.Quota.PerDay/100-f.Day.Free, min(j.waiters, j.Quota.PerMinute-f.MinuteUsed))
	}
	return petcat.SharedLease{
		Account: j.Account, Day: dayOf(f.Now), Quota: j.Quota.PerDay, Series: f.Day.Series, Granted: f.Day.Granted,
		Want: f.Day.Owed + want,
	}
}

// grant tells a partition what was leased. When that fails, the counters ask again: nobody
// waits for it longer than for a charge.
func (le *leaser) grant(p *partition, grants []counters.Grant) error {
	ctx, stop := le.l.stopwatch.within(le.l.lifetime, le.l.stopwatch.Read(), le.l.options.timeout)
	defer stop()
	err := le.l.options.Counters.Grant(ctx, p.number, p.state.Load().epoch, grants)
	p.isOver(err)
	return err
}

// finish ends jobs, for which something was granted or nothing, and lets their waiters
// charge again. What they have left to lease begins anew.
func (le *leaser) finish(jobs []*job, grants []counters.Grant, err error) {
	le.mu.Lock()
	for _, j := range jobs {
		delete(le.jobs, j.Account)
		j.unanswered = err != nil
		le.waited.Add(-min(1, j.waiters))
		close(j.done)
	}
	le.mu.Unlock()
	for i, j := range jobs {
		for _, f := range j.facts {
			if grants == nil || j.left(&f, grants[i]) {
				le.begin(j.Charge, f, 0)
			}
		}
	}
}

// failed records that the store does not do its work, which it was to do for some jobs.
// Nobody waits for it.
func (le *leaser) failed(err error, unreadable bool, jobs []*job) {
	if le.store.MarkFailed(le.l.options.Logger, err, unreadable) {
		le.mu.Lock()
		jobs, le.queue = append(le.queue, jobs...), nil
		le.mu.Unlock()
	}
	le.finish(jobs, nil, nil)
}

// worked records that the store does its work.
func (le *leaser) worked() {
	if le.store.MarkWorking(le.l.options.Logger) {
		le.notify()
	}
}

// read reads a day's count, unless that has just failed.
func (le *leaser) read(ctx context.Context, account petcat.AccountID, day int64) (int64, error) {
	if err := le.store.Unreadable(); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, ratelimit.LeaseTimeout)
	defer cancel()
	count, err := le.l.options.Days.DayCount(ctx, account, day)
	if err != nil && ctx.Err() == nil {
		le.failed(fmt.Errorf("reading the day's count: %w", err), true, nil)
	}
	return count, err
}

// tomorrow leases the first blocks of tomorrow. What fails is leased when it is needed.
func (le *leaser) tomorrow(p *partition, leases []petcat.SharedLease) {
	for leases := range slices.Chunk(leases, ratelimit.DayBatch) {
		grants, err := le.call(leases)
		if err != nil {
			return
		}
		_ = le.grant(p, grants)
	}
}
