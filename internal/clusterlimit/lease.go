package clusterlimit

import (
	"context"
	"errors"
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
	// leaseTimeout is how long a request waits for the day store before it goes on
	// without, as in package ratelimit.
	leaseTimeout = 2 * time.Second
	// storeTimeout bounds one call of the store: a slow answer still tells what was
	// leased.
	storeTimeout = 10 * time.Second
	// storeRetry is how long a store that failed is left alone.
	storeRetry = time.Second
	// leasesAtOnce is how many calls of the store may be under way: a slow one does not
	// hold up the others.
	leasesAtOnce = 4
)

var errStore = errors.New("the day store did not answer in time")

// leaser leases blocks of days for the counters, of all accounts that need one in one
// call. A lease names what the counters know to be granted, so that two nodes which
// lease at once lease the same block, and a lease can be repeated.
type leaser struct {
	l      *Limiter
	wake   chan struct{}    // capacity 1
	retry  <-chan time.Time // ticks
	away   atomic.Pointer[outage]
	waited atomic.Int64 // jobs for which requests wait

	mu    sync.Mutex
	jobs  map[petcat.AccountID]*job // guarded by mu
	queue []*job                    // not asked for yet; guarded by mu
}

// outage is what is known of a store that does not do its work.
type outage struct {
	err        error
	unreadable bool // counts cannot be read either
}

// job is a block that this node leases for an account: one at a time. It is guarded by
// the leaser's mu until it is done.
type job struct {
	ratelimit.Charge

	facts   counters.Facts
	waiters int64
	late    atomic.Bool   // somebody has waited in vain
	done    chan struct{} // closed when it was tried
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

// tell has a job go by other facts. It keeps its own if they are later, or if they tell of
// something that is owed and that the counters have forgotten: nobody else may know it.
func (j *job) tell(q petcat.Quota, f counters.Facts) {
	forgotten := j.facts.Day.Owed > 0 && j.facts.Day.Series != f.Day.Series && dayOf(j.facts.Now) == dayOf(f.Now)
	if !forgotten && j.facts.Now <= f.Now {
		j.Quota, j.facts = q, f
	}
}

// owesAfter takes note of a grant, and reports whether something is owed still: more was
// admitted meanwhile, or another node had leased that knew of less.
func (j *job) owesAfter(g counters.Grant) bool {
	d := &j.facts.Day
	if more := g.Granted - d.Granted; more > 0 {
		d.Granted, d.Owed = g.Granted, d.Owed-more
	}
	return d.Series == g.Series && d.Owed > 0 && g.Count < j.Quota.PerDay
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
	if le.away.Load() != nil {
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
		le.failed(&outage{err: err}, jobs)
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
		all.Go(func() {
			le.grant(p, grants)
			le.finish(whose[p])
			for i, j := range whose[p] {
				if j.owesAfter(grants[i]) {
					le.begin(j.Charge, j.facts, 0)
				}
			}
		})
	}
	all.Wait()
}

// call has the store lease, and returns what is to be granted for each lease.
func (le *leaser) call(leases []petcat.SharedLease) ([]counters.Grant, error) {
	ctx, cancel := context.WithTimeout(le.l.lifetime, storeTimeout)
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
	d := j.facts.Day
	want := ratelimit.LeaseBlock(j.Quota)
	if j.waiters > 0 {
		want = max(want, j.Quota.PerDay/100-d.Free, min(j.waiters, j.Quota.PerMinute-j.facts.MinuteUsed))
	}
	return petcat.SharedLease{
		Account: j.Account, Day: dayOf(j.facts.Now), Quota: j.Quota.PerDay, Series: d.Series, Granted: d.Granted,
		Want: d.Owed + want,
	}
}

// grant tells a partition what was leased. When that fails, the counters ask again: nobody
// waits for it longer than for a charge.
func (le *leaser) grant(p *partition, grants []counters.Grant) {
	ctx, cancel := context.WithTimeout(le.l.lifetime, timeout)
	defer cancel()
	p.isOver(le.l.options.Counters.Grant(ctx, p.number, p.state.Load().epoch, grants))
}

// finish ends jobs and lets their waiters charge again.
func (le *leaser) finish(jobs []*job) {
	le.mu.Lock()
	defer le.mu.Unlock()
	for _, j := range jobs {
		delete(le.jobs, j.Account)
		if j.waiters > 0 {
			le.waited.Add(-1)
		}
		close(j.done)
	}
}

// failed records that the store does not do its work, which it was to do for some jobs.
// Nobody waits for it. The jobs begin anew: what is owed must not be forgotten.
func (le *leaser) failed(out *outage, jobs []*job) {
	if le.away.Swap(out) == nil {
		le.l.options.Logger.Error("the store is unavailable: day counts continue without it", "error", out.err)
		le.mu.Lock()
		jobs, le.queue = append(le.queue, jobs...), nil
		le.mu.Unlock()
	}
	le.finish(jobs)
	for _, j := range jobs {
		le.begin(j.Charge, j.facts, 0)
	}
}

// worked records that the store does its work.
func (le *leaser) worked() {
	if le.away.Swap(nil) != nil {
		le.l.options.Logger.Info("the store is available again: day counts are saved")
		le.notify()
	}
}

// read reads a day's count, unless that has just failed.
func (le *leaser) read(ctx context.Context, account petcat.AccountID, day int64) (int64, error) {
	if out := le.away.Load(); out != nil && out.unreadable {
		return 0, out.err
	}
	ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	count, err := le.l.options.Days.DayCount(ctx, account, day)
	if err != nil && ctx.Err() == nil {
		le.failed(&outage{err: fmt.Errorf("reading the day's count: %w", err), unreadable: true}, nil)
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
		le.grant(p, grants)
	}
}
