package clusterlimit

import (
	"slices"

	"petcat"
	"petcat/internal/counters"
)

// dayStat is what happened in an account's day.
type dayStat struct {
	admitted, excused, quota int64
	// forgotten is what was owed to the store when the counters forgot it, in a series, and
	// no node has leased since.
	forgotten, series int64
	besideDebt        int64 // of excused: admitted by nodes while something was owed that they cannot know of
}

// day returns an account's day at a moment.
func (o *oracle) day(c *client, now int64) *dayStat {
	k := accountDay{c.id, dayOf(now)}
	if o.days[k] == nil {
		o.days[k] = &dayStat{}
	}
	o.days[k].quota = max(o.days[k].quota, c.quota.PerDay)
	return o.days[k]
}

// beyondDay: the store and the counters are both away for a node.
func (o *oracle) beyondDay(c *client) { o.day(c, o.w.now+o.w.ahead).excused++ }

// leasedAlone is a request that a node admits of what it has leased for itself.
func (o *oracle) leasedAlone(n *simNode, c *client) {
	o.alone[c.id][n]++
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
	}
}

// leasedShared takes note of a lease that paid something that was owed. What others have
// leased before, and not spent, is admitted later.
func (o *oracle) leasedShared(l petcat.SharedLease, paid int64) {
	d := o.days[accountDay{l.Account, l.Day}]
	if d == nil || l.Series != d.series || paid <= 0 {
		return
	}
	unspent := o.w.counters.Account(l.Account).Day.Free
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
		if i.node != nil || i.overlaps(o.w.now-int64(2*storeRetry), o.w.now) {
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
	alone := make([]int64, len(charges))
	for i, c := range charges {
		alone[i] = o.alone[c.Account][n]
	}
	return alone
}
