package redislimit

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"petcat"
	"petcat/internal/ratelimit"
)

const (
	// storePatience bounds one read of the day store.
	storePatience = 10 * time.Second
	// storeRetry is how long a store that failed is left alone.
	storeRetry = time.Second
)

// leaser leases blocks of days from the store and grants them to the accounts
// on the server, one goroutine for all.
type leaser struct {
	l       *Limiter
	wake    chan struct{} // capacity 1
	returns *ratelimit.DayReturns
	away    atomic.Pointer[outage]
	late    atomic.Bool // something is to be sent to the server again

	mu    sync.Mutex
	jobs  map[petcat.AccountID]*job // guarded by mu
	queue []*job                    // to be asked for; guarded by mu
	held  bool                      // the server is late with an answer; guarded by mu

	// Of the goroutine alone.
	leases    *ratelimit.DayLeases[*job]
	refused   []*job  // the store failed, and was not asked for them
	ungranted []grant // the server did not answer
	serial    int64
}

// outage is what is known of a store that does not do its work.
type outage struct {
	err   error
	blind bool // counts cannot be read either
}

// job is a block that this node leases for an account: one at a time.
type job struct {
	account petcat.AccountID
	day     int64
	second  int64 // when it was asked for

	// Guarded by the leaser's mu.
	quota   petcat.Quota
	used    int64 // of the minute
	owed    int64
	unknown bool // the day's count is not known to the server
	waiters int64
	done    chan struct{} // closed after each round; made for waiters
	sent    bool          // the server was told of the outcome, or is being told
	again   bool          // and asked for another since, or just before
}

func newLeaser(l *Limiter) *leaser {
	days := l.options.Days
	return &leaser{
		l: l, wake: make(chan struct{}, 1), jobs: make(map[petcat.AccountID]*job),
		leases: ratelimit.NewDayLeases[*job](days), returns: ratelimit.NewDayReturns(days),
	}
}

func (le *leaser) poke() {
	select {
	case le.wake <- struct{}{}:
	default:
	}
}

// lease begins to lease a block for an account, because the script said so.
func (le *leaser) lease(c ratelimit.Charge, f facts) {
	le.mu.Lock()
	defer le.mu.Unlock()
	second := f.now / int64(time.Second)
	j := le.jobs[c.Account]
	if j == nil || j.day != petcat.Day.Index(second) {
		j = &job{account: c.Account, day: petcat.Day.Index(second), second: second}
		le.begin(j)
	}
	j.again = j.sent
	j.quota, j.used, j.owed, j.unknown = c.Quota, f.minuteUsed, f.owed, f.code == codeUnknown
}

// doubt looks after a charge whose answer was lost: it may have said that this
// node is to lease, and then others wait for that.
func (le *leaser) doubt(c ratelimit.Charge) {
	second := le.l.local.Now() / int64(time.Second)
	le.mu.Lock()
	defer le.mu.Unlock()
	if le.jobs[c.Account] == nil {
		le.begin(&job{account: c.Account, day: petcat.Day.Index(second), second: second, quota: c.Quota})
	}
}

// begin puts a job in the queue. The caller holds le.mu.
func (le *leaser) begin(j *job) {
	le.jobs[j.account] = j
	le.queue = append(le.queue, j)
	le.poke()
}

func (le *leaser) giveBack(r petcat.DayReturn) {
	le.returns.Add(r)
	le.poke()
}

// run is the one goroutine that talks to the store.
func (le *leaser) run() {
	retry := time.NewTicker(storeRetry)
	defer retry.Stop()
	returning := false // the store failed to take what was given back
	for {
		due := false
		select {
		case <-le.l.stopping:
			return
		case <-retry.C:
			due = true
		case <-le.wake:
		}
		le.grantAgain()
		if due || !returning {
			returning = le.returns.Send(le.l.lifetime, nil) != nil
		}
		le.mu.Lock()
		jobs := le.queue
		le.queue = nil
		le.mu.Unlock()
		if le.away.Load() != nil && !due {
			le.goOnWithout(jobs)
			le.refused = append(le.refused, jobs...)
			continue
		}
		jobs = le.needed(jobs)
		if jobs = append(le.refused, jobs...); len(jobs) > 0 || len(le.leases.Waiting()) > 0 || due && le.away.Load() != nil {
			le.refused = le.round(jobs)
		}
	}
}

// needed ends the jobs whose account was granted a block since it asked, and
// returns the others. A request may ask with an answer that a grant overtook,
// and two blocks at once are more than a flushed server may lose.
func (le *leaser) needed(jobs []*job) []*job {
	jobs = slices.DeleteFunc(jobs, func(j *job) bool {
		lost := le.l.lane(j.account).now() == alone
		if lost {
			le.finish(j)
		}
		return lost
	})
	calls := make([]call, len(jobs))
	le.mu.Lock()
	for i, j := range jobs {
		j.sent = true
		calls[i] = call{[]string{le.l.keys.account(j.account)}, []string{
			le.l.node, number(j.day), number(ratelimit.LeaseBlock(j.quota) / 2),
		}}
	}
	le.mu.Unlock()
	var needed []*job
	for i, r := range le.runAll(le.l.working, le.l.scripts.need, calls) {
		switch {
		case r.err != nil && le.l.lane(jobs[i].account).now() == together:
			le.later(jobs[i])
		case r.err == nil && r.numbers[0] == 1:
			needed = append(needed, jobs[i])
		default:
			le.finish(jobs[i])
		}
	}
	le.setSent(needed, false)
	return needed
}

// later puts a job back in the queue, until the server answers again. Nobody
// waits for that.
func (le *leaser) later(j *job) {
	le.mu.Lock()
	defer le.mu.Unlock()
	j.sent = false
	j.release()
	le.queue = append(le.queue, j)
	le.late.Store(true)
}

// again is told that the server answers, and sends it what it has missed.
func (le *leaser) again() {
	if le.late.Swap(false) {
		le.poke()
	}
}

// round leases for all jobs, and returns those that the store was not asked for
// because it failed. A call that it did not answer comes first.
func (le *leaser) round(jobs []*job) (refused []*job) {
	for len(jobs) > 0 || len(le.leases.Waiting()) > 0 {
		if len(le.leases.Waiting()) == 0 {
			n := min(len(jobs), ratelimit.DayBatch)
			le.add(jobs[:n])
			jobs = jobs[n:]
		}
		asked, got, err := le.leases.Ask(le.l.lifetime)
		if err != nil {
			le.setAway(&outage{err: err})
			le.goOnWithout(slices.Concat(le.leases.Waiting(), jobs))
			return jobs
		}
		le.grantAll(asked, got)
	}
	le.setAway(nil)
	return nil
}

// add puts jobs into the next call of the store.
func (le *leaser) add(jobs []*job) {
	le.mu.Lock()
	defer le.mu.Unlock()
	for _, j := range jobs {
		// Requests that wait are leased for at once, as far as the minute admits
		// them: they spend it within the same instant.
		waiting := min(j.waiters, j.quota.PerMinute-j.used)
		le.leases.Add(petcat.DayLease{
			Account: j.account, Day: j.day, Quota: j.quota.PerDay,
			Want: j.owed + max(ratelimit.LeaseBlock(j.quota), waiting),
		}, j)
	}
}

// runAll runs a script on the server. Requests do not wait for that for longer
// than a command may take: those that wait for a block are let go then.
func (le *leaser) runAll(ctx context.Context, s script, calls []call) []reply {
	answered := false     // guarded by le.mu
	var timer *time.Timer // guarded by le.mu
	began := le.l.stopwatch.Read()
	look := func() {
		le.mu.Lock()
		defer le.mu.Unlock()
		if answered {
			return
		}
		if next := le.l.stopwatch.nextLook(began); next > 0 {
			timer.Reset(next)
			return
		}
		le.held = true
		for _, j := range le.jobs {
			j.release()
		}
	}
	le.mu.Lock()
	timer = time.AfterFunc(le.l.stopwatch.every, look)
	le.mu.Unlock()
	replies := le.l.runAll(ctx, s, calls)
	le.mu.Lock()
	defer le.mu.Unlock()
	timer.Stop()
	answered, le.held = true, false
	return replies
}

// heldUp returns errLate while the server keeps the leaser waiting.
func (le *leaser) heldUp() error {
	le.mu.Lock()
	defer le.mu.Unlock()
	if le.held {
		return errLate
	}
	return nil
}

func (le *leaser) setSent(jobs []*job, sent bool) {
	le.mu.Lock()
	defer le.mu.Unlock()
	for _, j := range jobs {
		j.sent = sent
	}
}

// finish ends a job and lets its waiters look again.
func (le *leaser) finish(j *job) {
	le.mu.Lock()
	defer le.mu.Unlock()
	if le.jobs[j.account] == j {
		delete(le.jobs, j.account)
		if j.again {
			next := *j
			next.done, next.waiters, next.owed, next.sent, next.again = nil, 0, 0, false, false
			le.begin(&next)
		}
	}
	j.release()
}

// release lets the waiters look again. The caller holds the leaser's mu.
func (j *job) release() {
	if j.done != nil {
		close(j.done)
		j.done = nil
	}
	j.waiters = 0
}

// goOnWithout makes accounts ready for going on without the store, as far as
// their counts are known to the server or can be read.
func (le *leaser) goOnWithout(jobs []*job) {
	blind := false
	for _, j := range jobs {
		le.mu.Lock()
		unknown := j.unknown
		le.mu.Unlock()
		if unknown && !blind {
			count, err := le.read(j)
			if err != nil {
				blind = true // the others are not made to wait for the same
				le.setAway(&outage{err: fmt.Errorf("reading the day's count: %w", err), blind: true})
			} else {
				le.serial++
				le.grant([]grant{{job: j, token: le.l.node + "_" + number(le.serial), got: petcat.DayLeased{Count: count}}})
			}
		}
		le.mu.Lock()
		j.release()
		le.mu.Unlock()
	}
}

func (le *leaser) read(j *job) (int64, error) {
	ctx, cancel := context.WithTimeout(le.l.lifetime, storePatience)
	defer cancel()
	return le.l.options.Days.DayCount(ctx, j.account, j.day)
}

// setAway records that the store stopped or resumed doing its work.
func (le *leaser) setAway(out *outage) {
	before := le.away.Swap(out)
	switch {
	case before == nil && out != nil:
		le.l.logger.LogAttrs(le.l.lifetime, slog.LevelError, "days are counted without the store: it is away", slog.Any("error", out.err))
	case before != nil && out == nil:
		le.l.logger.LogAttrs(le.l.lifetime, slog.LevelInfo, "days are counted in the store again")
	}
}
