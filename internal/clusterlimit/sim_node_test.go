package clusterlimit

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/counters"
	"petcat/internal/ratelimit"
)

// simNode is a node: the same decisions as in production, with a driver of virtual
// time around them.
type simNode struct {
	w       *world
	id      string
	started int64

	state      state
	clock      countersClock
	accounts   map[petcat.AccountID]*account
	members    *Membership
	unreported []petcat.AccountID
	days       map[petcat.AccountID]*localDay
	leasing    map[petcat.AccountID]*job
	later      map[petcat.AccountID]*job
	waiters    map[petcat.AccountID]int64             // for the lease that comes next
	awaiting   map[petcat.AccountID][]func(told bool) // the lease that is under way
	queue      []*simRequest
	probing    bool
	soon       bool  // probe again when the one that is under way has ended
	probes     int64 // begun so far

	ready, dead  bool
	heardAt      int64 // when the database told last
	diedAt       int64
	frozenSince  int64
	frozenUntil  int64
	frozenFor    int64   // in all
	cutUntil     int64   // from the counters
	noStoreUntil int64   // cut off from the database
	blindUntil   int64   // a mutant's
	answeredIn   *window // the counters executed in it what they answer now
}

// localDay is what a node has leased for what it admits by itself.
type localDay struct{ day, free, count int64 }

// simRequest is a request on its way. Its pendingCharge is what waits for the counters.
type simRequest struct {
	pendingCharge

	client     *client
	sent       int64
	v          view
	within     bool
	minute     int64
	epochs     int
	retry      int     // after leases
	executedIn *window // of facts
	daySent    bool    // the counters were told what this node knows of the day
	since      int64   // it waits for the counters, by the node's stopwatch
	over       bool
}

// Read implements [clock.Clock].
func (n *simNode) Read() clock.Reading {
	return clock.Reading{Wall: n.w.now, Mono: n.w.now - n.started + int64(time.Hour)}
}

func (n *simNode) mono() int64 { return n.Read().Mono }

// stopwatch returns the time that does not pass while the node is frozen.
func (n *simNode) stopwatch() int64 { return n.w.now - n.frozenFor }

// join starts a node, which serves once it has tried to reach the counters.
func (w *world) join() {
	n := &simNode{
		w: w, id: fmt.Sprintf("%c%d", 'a'+rune(w.random.IntN(26)), len(w.nodes)), started: w.now,
		accounts: make(map[petcat.AccountID]*account), days: make(map[petcat.AccountID]*localDay),
		leasing: make(map[petcat.AccountID]*job), waiters: make(map[petcat.AccountID]int64),
		awaiting: make(map[petcat.AccountID][]func(bool)),
		later:    make(map[petcat.AccountID]*job),
	}
	n.clock.source = n
	n.members = &Membership{}
	n.state = newState(n.mono())
	w.nodes = append(w.nodes, n)
	n.beat()
	n.probe(startTimeout)
}

// beat tells the database of this node, again and again.
func (n *simNode) beat() {
	n.hear()
	n.w.timer(n, n.members.UntilHeartbeat(n.cutOff()), n.beat)
}

func (n *simNode) cutOff() uint64 {
	if n.ready && n.state.mode != closed {
		return 1
	}
	return 0
}

func (n *simNode) hear() {
	cutOff := n.cutOff()
	if members, ok := n.w.beat(n, cutOff); ok {
		if n.w.change.silentAreCutOff {
			for i := range members {
				if members[i].Seen > 3*time.Second {
					members[i].CutOff = 1
				}
			}
		}
		if n.w.change.noRoom {
			for i := range members {
				members[i].CutOff = 0
			}
		}
		if n.w.change.joinsAtOnce {
			for i := range members {
				members[i].Joined = time.Hour
			}
		}
		n.members = &Membership{ReadAt: n.mono(), Self: n.id, Members: members}
		n.heardAt = n.w.now
	}
}

// serves reports whether the node takes requests: it has started, and the database
// told it within 30 s which keys hold.
func (n *simNode) serves() bool {
	return n.ready && !n.dead && n.heardAt != 0 && n.w.now-n.heardAt < int64(30*time.Second)
}

func (n *simNode) account(id petcat.AccountID) *account {
	a := n.accounts[id]
	if a == nil {
		a = &account{}
		n.accounts[id] = a
	}
	return a
}

func (n *simNode) view(perMinute int64) view {
	t := n.clock.Read()
	v := newView(n.state, n.members, 0, t.Mono, t.Wall, perMinute)
	return n.w.change.view(v)
}

// spend is one request, from its beginning.
func (n *simNode) spend(r *simRequest) {
	if !n.serves() { // it stood still for so long that it must hear from the database first
		n.w.oracle.answered(r)
		return
	}
	v := n.view(r.client.quota.PerMinute)
	a := n.account(r.client.id)
	r.v = v
	way := a.way(v, r.client.quota)
	r.minute = a.minute
	if n.w.change.floorShares {
		way = n.w.change.floored(a, v, way)
	}
	if way == askWithin && n.w.change.spentForgotten {
		a.spent--
	}
	switch way {
	case refuse:
		n.refused(r, true)
	case refuseByShare:
		n.refused(r, false)
	case admitLocally:
		n.chargeDay(r, true)
	default:
		r.within = way == askWithin
		n.ask(r)
	}
}

// ask puts the request into the next call, if it has not waited for half of its time.
func (n *simNode) ask(r *simRequest) {
	if n.stopwatch()-r.since > int64(n.wait()/2) {
		n.decideLocally(r, false)
		return
	}
	r.pendingCharge = pendingCharge{charge: ratelimit.Charge{Account: r.client.id, Quota: r.client.quota}, limit: r.client.quota.PerMinute - r.v.room, overdraw: n.storeAway()}
	n.queue = append(n.queue, r)
	if len(n.queue) == 1 {
		n.w.timer(n, 0, n.flushQueue)
	}
}

func (n *simNode) storeAway() bool { return n.w.storeDown > n.w.now || n.noStoreUntil > n.w.now }

func (n *simNode) flushQueue() {
	group := n.queue
	n.queue = nil
	if n.state.mode == open {
		for _, r := range group {
			n.decideLocally(r, false)
		}
		return
	}
	var charges []counters.Charge
	place := make(map[petcat.AccountID]int)
	since := n.stopwatch()
	for _, r := range group {
		since = min(since, r.since)
		i, known := place[r.client.id]
		if !known {
			i = len(charges)
			place[r.client.id] = i
			charges = append(charges, n.begin(r.client.id))
		}
		charges[i].Requests++
		charges[i].PerMinute, charges[i].PerDay = r.limit, r.charge.Quota.PerDay
		charges[i].Overdraw = charges[i].Overdraw || r.overdraw
	}
	n.charge(since, charges, func(facts []counters.Facts, err error) {
		answered := make([]int64, len(charges))
		for _, r := range group {
			if err != nil {
				n.notDecided(r, err)
				continue
			}
			i := place[r.client.id]
			r.take(facts[i], answered[i])
			r.executedIn = n.answeredIn
			answered[i]++
			n.decided(r)
		}
	})
}

func (n *simNode) notDecided(r *simRequest, err error) {
	if _, is := errors.AsType[*counters.WrongEpoch](err); is {
		r.daySent = false
		n.release(r)
		if r.epochs++; r.epochs < 2 {
			r.within = false
			n.spend(r)
			return
		}
		r.within = false
		n.decideLocally(r, false)
		return
	}
	n.decideLocally(r, true)
}

func (n *simNode) release(r *simRequest) {
	if r.within {
		n.account(r.client.id).release(r.minute, false)
	}
}

// decided answers a request of which the counters told what became.
func (n *simNode) decided(r *simRequest) {
	n.leaseAhead(r)
	switch {
	case r.admitted:
		if !r.within && !n.w.change.closedForgotten {
			n.account(r.client.id).counted(r.facts.Now)
		}
		n.w.oracle.admittedShared(n, r)
	case r.needsBlock():
		n.wantBlock(r)
	default:
		n.release(r)
		used := r.used()
		n.refused(r, used.Verdict() != ratelimit.Admitted)
	}
}

// decideLocally decides a request that the counters did not decide.
func (n *simNode) decideLocally(r *simRequest, unknown bool) {
	v := n.view(r.client.quota.PerMinute)
	r.v = v
	a := n.account(r.client.id)
	taken := int64(-1)
	if r.within {
		taken = r.minute
	}
	admitted := a.spendLocally(v, r.client.quota.PerMinute, taken, unknown)
	r.minute = a.minute
	if !admitted {
		n.refused(r, false)
		return
	}
	n.chargeDay(r, !unknown)
}

// chargeDay charges the day of what this node admits by itself.
func (n *simNode) chargeDay(r *simRequest, unreported bool) {
	n.report(r.client.id)
	d := n.days[r.client.id]
	day := dayOf(r.v.now)
	if d == nil || d.day != day {
		d = &localDay{day: day}
		n.days[r.client.id] = d
	}
	if d.free == 0 && !n.storeAway() {
		d.free, d.count = n.w.store.lease(r.client.id, day, ratelimit.LeaseBlock(r.client.quota), r.client.quota.PerDay)
		n.w.oracle.ofDay(accountDay{r.client.id, day}).unspent += d.free
		if d.free == 0 {
			n.account(r.client.id).release(r.minute, unreported)
			n.refused(r, true)
			return
		}
	}
	if d.free > 0 {
		d.free--
		n.w.oracle.ofDay(accountDay{r.client.id, day}).unspent--
		n.w.oracle.leasedAlone(n, r.client)
		n.account(r.client.id).dayCounted(r.v.now, d.count-d.free, r.client.quota.PerDay)
	} else {
		n.w.oracle.beyondDay(r.client)
	}
	n.w.oracle.admittedLocally(n, r)
}

func (n *simNode) report(id petcat.AccountID) {
	if !slices.Contains(n.unreported, id) {
		n.unreported = append(n.unreported, id)
	}
}

func (n *simNode) refused(r *simRequest, whole bool) {
	n.w.oracle.refused(n, r, whole || n.w.change.shareRefusesWhole)
}
