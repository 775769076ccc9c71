package clusterlimit

import (
	"errors"
	"time"

	"petcat"
	"petcat/internal/counters"
	"petcat/internal/ratelimit"
)

// leaseAhead leases the next block when half of one is left.
func (n *simNode) leaseAhead(r *simRequest) {
	d := r.facts.Day
	if d.Known && (d.Free <= ratelimit.LeaseBlock(r.client.quota)/2 && d.Count < r.client.quota.PerDay || d.Owed > 0) {
		n.lease(r.charge, []counters.Facts{r.facts}, func(bool) {})
	}
}

// wantBlock has a block leased, and the request charged again.
func (n *simNode) wantBlock(r *simRequest) {
	if r.retry++; r.retry > 200 || n.w.change.lostLeaseBlinds && n.blindUntil > n.w.now {
		n.release(r)
		n.w.oracle.errored(n, r)
		return
	}
	r.since = n.stopwatch()
	again := func(told bool) {
		if told {
			r.since = n.stopwatch()
		}
		n.ask(r)
	}
	if n.storeAway() && !r.overdraw {
		again(true) // it is unavailable since
		return
	}
	if n.storeAway() {
		// What this node knows of the day will do.
		if a := n.account(r.client.id); a.dayKnown && a.day == dayOf(r.facts.Now) && !r.daySent && !n.w.change.knownDayUnused {
			epoch := n.state.epoch
			n.grant(counters.Grant{Account: r.client.id, Day: a.day, Series: r.facts.Day.Series, Count: a.dayUsed}, func(told bool) {
				r.daySent = n.state.epoch == epoch
				again(told)
			})
			return
		}
		n.release(r)
		n.w.oracle.errored(n, r)
		return
	}
	n.waiters[r.client.id]++
	if n.leasing[r.client.id] != nil {
		n.awaiting[r.client.id] = append(n.awaiting[r.client.id], again)
		return
	}
	n.lease(r.charge, []counters.Facts{r.facts}, again)
}

// lease leases a block for the counters and grants it. Done is told false if they do not
// answer.
func (n *simNode) lease(c ratelimit.Charge, facts []counters.Facts, done func(told bool)) {
	id := c.Account
	if n.leasing[id] != nil {
		tell(n.leasing, c, facts)
		done(true)
		return
	}
	if n.storeAway() {
		n.leaseLater(c, facts)
		done(true)
		return
	}
	j := tell(n.leasing, c, facts)
	j.waiters = n.waiters[id]
	n.waiters[id] = 0
	l, owed := j.lease(), j.facts[0].Day.Owed
	if n.w.twice() {
		n.w.at(n.w.now+n.w.random.Int64N(int64(time.Second)), func() {
			if !n.storeAway() {
				n.w.leaseShared(l, owed)
			}
		})
	}
	n.w.at(n.w.now+n.w.random.Int64N(int64(4*time.Millisecond)), func() {
		lost := n.w.storeDown > n.w.now || n.noStoreUntil > n.w.now || n.w.random.IntN(40) == 0
		var got petcat.SharedLeased
		if !lost || n.w.random.IntN(2) == 0 {
			got = n.w.leaseShared(l, owed)
		}
		n.w.arrive(n, time.Millisecond, func() {
			delete(n.leasing, id)
			awaiting := append(n.awaiting[id], done)
			delete(n.awaiting, id)
			ended := func(told bool) {
				for _, again := range awaiting {
					again(told)
				}
			}
			if lost {
				n.blindUntil = n.w.now + int64(ratelimit.StoreRetry)
				n.leaseLater(j.Charge, j.facts)
				ended(true)
				return
			}
			g := counters.Grant{Account: id, Day: l.Day, Series: l.Series, Granted: got.Granted, Count: got.Count}
			n.grant(g, func(told bool) {
				for _, f := range j.facts {
					if j.left(&f, g) {
						n.lease(j.Charge, []counters.Facts{f}, func(bool) {})
					}
				}
				ended(told)
			})
		})
	})
}

// leaseShared is a lease that the store makes.
func (w *world) leaseShared(l petcat.SharedLease, owed int64) petcat.SharedLeased {
	before := *w.store.row(l.Account, l.Day)
	got := w.store.leaseShared(l)
	w.oracle.leasedShared(l, before, got, owed)
	return got
}

// tell tells the job of an account, which may begin with this.
func tell(jobs map[petcat.AccountID]*job, c ratelimit.Charge, facts []counters.Facts) *job {
	j := jobs[c.Account]
	if j == nil {
		j = &job{Charge: c}
		jobs[c.Account] = j
	}
	for _, f := range facts {
		j.tell(c.Quota, f)
	}
	return j
}

// leaseLater tries again a second later.
func (n *simNode) leaseLater(c ratelimit.Charge, facts []counters.Facts) {
	waits := n.later[c.Account] != nil
	j := tell(n.later, c, facts)
	if waits {
		return
	}
	n.w.timer(n, ratelimit.StoreRetry, func() {
		delete(n.later, c.Account)
		n.lease(j.Charge, j.facts, func(bool) {})
	})
}

func (n *simNode) grant(g counters.Grant, done func(told bool)) {
	epoch := n.state.epoch
	over := false
	leased := int64(0)
	n.w.call(n, func(again bool) func() {
		before := n.w.counters.Account(g.Account).Day
		if again {
			g = n.w.change.grant(g, leased, before.Granted)
		}
		leased = g.Granted - before.Granted
		err := n.w.counters.Grant(nil, 0, epoch, []counters.Grant{g}) //nolint:staticcheck // the reference needs no context
		switch after := n.w.counters.Account(g.Account).Day; {
		case after.Granted > before.Granted:
			clear(n.w.oracle.local[g.Account])
		case after.Known && !before.Known && g.Granted == 0:
			n.w.oracle.dayTold(g)
		}
		return func() {
			if over {
				return
			}
			over = true
			if wrong, is := errors.AsType[*counters.WrongEpoch](err); is {
				n.state = n.state.in(n.mono(), n.w.change.epoch(wrong.Now))
			}
			done(err == nil)
		}
	})
	n.w.timer(n, timeout, func() {
		if !over {
			over = true
			done(false)
		}
	})
}
