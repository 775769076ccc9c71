package clusterlimit

import (
	"slices"

	"petcat"
	"petcat/internal/counters"
	"petcat/internal/ratelimit"
)

// dayStat is what happened in an account's day.
type dayStat struct {
	admitted, excused, quota int64
	// forgotten is what was owed to the store when the counters forgot it, in a series, and
	// no node has leased since.
	forgotten, series int64
	besideDebt        int64 // of excused: admitted by nodes while something was owed that they cannot know of

	// What the day may lack.
	unanswered int64           // admitted by the counters, and not told to the client
	unspent    int64           // leased by nodes for themselves
	lost       int64           // leased in series that have ended
	ended      map[int64]bool  // series that have
	granted    map[int64]int64 // to each series
}

// ofDay returns an account's day.
func (o *oracle) ofDay(k accountDay) *dayStat {
	if o.days[k] == nil {
		o.days[k] = &dayStat{ended: make(map[int64]bool), granted: make(map[int64]int64)}
	}
	return o.days[k]
}

// day returns an account's day at a moment.
func (o *oracle) day(c *client, now int64) *dayStat {
	d := o.ofDay(accountDay{c.id, dayOf(now)})
	d.quota = max(d.quota, c.quota.PerDay)
	return d
}

// beyondDay: the store and the counters are both away for a node.
func (o *oracle) beyondDay(c *client) { o.day(c, o.w.now+o.w.ahead).excused++ }

// leasedAlone is a request that a node admits of what it has leased for itself.
func (o *oracle) leasedAlone(n *simNode, c *client) {
	o.local[c.id][n]++
	// What is owed to the store is known to the counters, and to nodes that they told.
	if d := o.day(c, o.w.now+o.w.ahead); d.besideDebt < o.w.counters.Account(c.id).Day.Owed {
		d.besideDebt++
		d.excused++
	}
}

// forgotten: the counters forget what is owed to the store. Until a node has leased it,
// those who admit cannot know of it.
func (o *oracle) forgotten() {
	for _, c := range o.w.accounts {
		a := o.w.counters.Account(c.id)
		if d := o.days[accountDay{c.id, a.DayIndex}]; d != nil && a.Day.Series != d.series {
			d.forgotten += a.Day.Owed
			d.series = a.Day.Series
		}
		o.lose(c, a)
	}
}

// lose: an account's series ends, and what is left of its block is lost: at most one in a
// hundred of the day, where that is as much as may wait for a block at once.
func (o *oracle) lose(c *client, a counters.Account) {
	k := accountDay{c.id, a.DayIndex}
	d := o.ofDay(k)
	if a.Day.Series == 0 || d.ended[a.Day.Series] {
		return
	}
	d.ended[a.Day.Series] = true
	left := a.Day.Free + max(0, ungranted(*o.w.store.row(k.account, k.day), a)-a.Day.Owed) // what is owed was admitted
	d.lost += left
	if hundredth := c.quota.PerDay / 100; left > hundredth && hundredth > 300 {
		o.failf("%d of account %d's day of %d are lost at once", left, c.id, c.quota.PerDay)
	}
}

// ungranted returns what was leased in the series that the counters know, and not granted.
func ungranted(r dayRow, a counters.Account) int64 {
	if r.series != a.Day.Series {
		return 0
	}
	return max(0, r.granted-a.Day.Granted)
}

// dayRefused: a client is told that the whole day is used up. It is, but for what this oracle
// saw go: what the counters admitted and nobody was told, what nodes have leased for
// themselves and not spent, and what ended with a series. What is granted by now may not have
// been when the counters answered.
func (o *oracle) dayRefused(n *simNode, r *simRequest) {
	k := accountDay{r.client.id, dayOf(r.facts.Now)}
	if a := n.account(r.client.id); r.facts.Day.Used() < r.client.quota.PerDay {
		if !a.dayKnown || a.dayUsed < r.client.quota.PerDay {
			return // this node's own leases
		}
		k.day = a.day
	}
	if o.steps > 0 || k.day != dayOf(o.w.now) {
		return
	}
	o.seen.daysSpent++
	d, a := o.ofDay(k), o.w.counters.Account(k.account)
	known := d.unanswered + d.unspent + d.lost + a.Day.Free
	if a.DayIndex == k.day {
		known += ungranted(*o.w.store.row(k.account, k.day), a)
	}
	if d.admitted+known < r.client.quota.PerDay {
		o.failf("account %d is told that its day of %d is used up: %d are admitted, and where %d of the others are is known",
			k.account, r.client.quota.PerDay, d.admitted, known)
	}
}

// leasedShared takes note of a lease that paid something that was owed. What others have
// leased before, and not spent, is admitted later.
//
// The store knows the sum of a day's last series alone. When nodes lease in a series that has
// ended, and others meanwhile in the one that holds, each lease begins its series anew with
// what it knows, and one that does not know what was leased before leases it once more.
func (o *oracle) leasedShared(l petcat.SharedLease, before dayRow, got petcat.SharedLeased, owed int64) {
	d, leased := o.ofDay(accountDay{l.Account, l.Day}), got.Count-before.count
	known := d.granted[l.Series]
	forgot := before.series != l.Series || before.granted < known
	if d.ended[l.Series] || forgot && known > l.Granted {
		d.lost += leased
	}
	d.granted[l.Series] = max(known, got.Granted)
	paid := min(owed, leased)
	if l.Series != d.series || paid <= 0 {
		return
	}
	unspent := int64(0)
	if a := o.w.counters.Account(l.Account); a.DayIndex == l.Day {
		unspent = a.Day.Free + ungranted(before, a)
	}
	for _, n := range o.w.nodes {
		if own := n.days[l.Account]; own != nil && own.day == l.Day {
			unspent += own.free
		}
	}
	d.excused += min(d.forgotten, unspent)
	d.forgotten = max(0, d.forgotten-paid)
}

// unpaid reports whether what the counters have forgotten may not be leased yet: nodes that
// continue lease what they were told of it within a second after the store is back.
func (o *oracle) unpaid() bool {
	for _, i := range o.dbFaults {
		if i.node != nil || i.overlaps(o.w.now-int64(2*ratelimit.StoreRetry), o.w.now) {
			return true
		}
	}
	return len(o.faults) > 0 || slices.ContainsFunc(o.w.nodes, func(n *simNode) bool { return n.dead })
}

// dayTold: the counters were emptied, the store is unavailable, and the day goes on from
// what they told the node last that they ask now.
func (o *oracle) dayTold(g counters.Grant) {
	if d := o.days[accountDay{g.Account, g.Day}]; d != nil {
		d.excused += max(0, d.admitted-g.Count)
	}
}

// admitOfDay takes note of an admitted request.
func (o *oracle) admitOfDay(c *client, now int64) {
	d := o.day(c, now)
	d.admitted++
	if d.forgotten > 0 && o.unpaid() {
		d.forgotten--
		d.excused++
	}
}

// toBeTold returns how much of what a node has admitted each of its charges tells of.
func (o *oracle) toBeTold(n *simNode, charges []counters.Charge) []int64 {
	local := make([]int64, len(charges))
	for i, c := range charges {
		local[i] = o.local[c.Account][n]
	}
	return local
}
