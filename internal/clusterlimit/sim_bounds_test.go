package clusterlimit

import (
	"fmt"
	"time"
)

// finish checks the windows that are over.
func (o *oracle) finish() {
	if o.fault != nil {
		return
	}
	for i, w := range o.windows {
		if w.end == 0 {
			w.end = o.w.end
		}
		o.seen.windows++
		for id := range w.accounts {
			o.checkWindow(i, w, &w.accounts[id], id)
		}
	}
	for k, d := range o.days {
		if d.admitted > d.quota+d.excused {
			o.failf("account %d: %d of its day's %d are admitted, %d of them without the store and the counters", k.account, d.admitted, d.quota, d.excused)
		}
	}
	for _, n := range o.w.nodes {
		if n.ready && !n.dead && n.frozenUntil < o.w.now-int64(recovery) && n.state.mode != closed && !o.troubledLately(n) {
			o.failf("node %s is %s though all is well", n.id, n.state.mode)
		}
	}
}

func (o *oracle) troubledLately(n *simNode) bool {
	for _, i := range o.dbFaults {
		if i.node == n && i.overlaps(o.w.end-int64(2*recovery), o.w.end) {
			return true
		}
	}
	return o.troubled(n, o.w.end-int64(recovery), o.w.end) || n.started > o.w.end-int64(recovery)
}

func (o *oracle) checkWindow(i int, w *window, s *stat, id int) {
	bound, why := o.bound(w, s)
	if total := s.shared + s.local; total > bound {
		o.failf("window %d (%s to %s): account %d is admitted %d + %d = %d of %d, want at most %d: %s%s",
			i, o.time(w.begin), o.time(w.end), id, s.shared, s.local, total, s.most, bound, why, s.nodes(o))
	}
	if o.outage(w) && w.probes == 0 && o.troubled(nil, w.begin-int64(time.Second), w.begin-int64(time.Second)) && o.steady(w) && s.least == s.most && !s.byDay && o.steps == 0 && i > 0 && i < len(o.windows)-1 {
		o.checkShares(i, w, s, id)
	}
}

// nodes tells what each node decided.
func (s *stat) nodes(o *oracle) (text string) {
	for _, n := range o.w.nodes {
		if c, ok := s.byNode[n]; ok {
			text += fmt.Sprintf("; node %s admitted %d of %d", n.id, c[1], c[0])
		}
	}
	return text
}

// bound returns how much of a minute may be admitted.
func (o *oracle) bound(w *window, s *stat) (int64, string) {
	limit := s.most
	disputed := int64(0)
	if o.disputed(w) {
		disputed = limit
	}
	if w.epoch {
		o.seen.epochs++
		return 2*limit + disputed, "an epoch began"
	}
	if o.steps > 0 {
		if o.lostTwice(w) { // under the minute's one name and, after the recovery, under the other
			return 3*limit + disputed, "the clock was set, and the counters recovered and failed"
		}
		if o.troubled(nil, 0, o.w.end) {
			return 2*limit + disputed, "the clock was set"
		}
		return limit, "the clock was set, and all else is well"
	}
	if o.outage(w) {
		o.seen.outages++
		return limit + disputed, "the counters were away for all of it"
	}
	var troubled []*simNode
	for _, n := range o.w.nodes {
		if o.troubled(n, w.begin-int64(recovery)-o.frozenFor(n, w.begin, w.end), w.end) {
			troubled = append(troubled, n)
		}
	}
	switch {
	case len(troubled) == 0:
		return limit, "all was well"
	case len(troubled) == 1 && o.known(troubled[0], w):
		o.seen.knownCutOff++
		return limit, "all knew that one node was cut off"
	case len(troubled) == 1 && disputed == 0 && o.steadyBut(w, troubled[0]):
		nodes := max(1, int64(len(o.alive(w))))
		return limit + (limit+nodes-1)/nodes, "one node was cut off"
	case o.w.schedule.even && !s.byDay:
		// What was in flight, which is at most one or two of each node, and what a report in
		// flight told of; and one of each node for the division.
		nodes := int64(len(o.w.nodes))
		return min(limit+3*nodes+s.unreported, 2*limit+disputed), "the counters were lost, or came back, and the load was even"
	default:
		return 2*limit + disputed, "the counters were lost, or came back"
	}
}

// alive returns the nodes that were there in all of a window.
func (o *oracle) alive(w *window) (nodes []*simNode) {
	for _, n := range o.w.nodes {
		if n.started <= w.begin && (!n.dead || n.diedAt > w.end) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// frozenFor is how long a node stood still lately: it comes back so much later.
func (o *oracle) frozenFor(n *simNode, from, to int64) (sum int64) {
	for _, i := range o.dbFaults {
		if i.node == n && i.overlaps(from-int64(2*time.Minute), to) {
			sum += i.to - i.from
		}
	}
	return sum
}

// lostTwice reports whether the counters were away for somebody, and away once more, in a
// window.
func (o *oracle) lostTwice(w *window) bool {
	count := 0
	for _, i := range o.faults {
		if i.overlaps(w.begin-int64(recovery), w.end) {
			count++
		}
	}
	return count > 1
}

// outage reports whether no node could use the counters in all of a window.
func (o *oracle) outage(w *window) bool { return w.calls == 0 && o.troubled(nil, w.begin, w.begin) }

// steady reports whether all nodes knew of each other, and of no others, for long
// before a window and in all of it.
func (o *oracle) steady(w *window) bool { return o.steadyBut(w, nil) }

// steadyBut is steady, or would be if not for one node's way to the database.
func (o *oracle) steadyBut(w *window, cut *simNode) bool {
	const before = 40 * time.Second
	for _, i := range o.dbFaults {
		own := cut != nil && i.node == cut && cut.frozenFor == 0
		if i.overlaps(w.begin-int64(before), w.end) && !own {
			return false
		}
	}
	for _, at := range o.joins {
		if at >= w.begin-int64(before) && at <= w.end {
			return false
		}
	}
	for _, n := range o.w.nodes {
		if n.dead && n.diedAt >= w.begin-int64(before) && n.diedAt <= w.end {
			return false
		}
	}
	return true
}

// disputed reports whether a node may not have known that another has joined, or joined
// anew: it was cut off from the database, or stood still.
func (o *oracle) disputed(w *window) bool {
	const before = 45 * time.Second
	for _, at := range o.joins {
		if at < w.begin-int64(before) || at > w.end {
			continue
		}
		for _, i := range o.dbFaults {
			if i.overlaps(at-int64(before), w.end) {
				return true
			}
		}
		if o.allJoined(w) {
			return true
		}
	}
	for _, at := range o.rejoins {
		if at < w.begin-int64(before) || at > w.end {
			continue
		}
		for _, i := range o.dbFaults {
			if i.overlaps(at+1, w.end) {
				return true
			}
		}
	}
	return false
}

// allJoined reports whether no node was there before.
func (o *oracle) allJoined(w *window) bool {
	for _, r := range o.w.rows {
		if r.joined <= w.begin-int64(settleBefore) && r.seen >= w.begin-int64(40*time.Second) {
			return false
		}
	}
	return true
}

// known reports whether all nodes knew before a window that a node is cut off, and
// nothing else was wrong: it was cut off in time, and either still is at the window's
// end or came back once.
func (o *oracle) known(cut *simNode, w *window) bool {
	const soon = 6 * time.Second
	if cut.dead && cut.diedAt <= w.end {
		return false
	}
	count := 0
	for _, i := range o.faults {
		if i.node != nil && i.node != cut || !i.overlaps(w.begin-int64(2*time.Minute), w.end) {
			continue
		}
		if count++; i.node == nil || i.from > w.begin-int64(soon) || i.to < w.begin {
			return false
		}
	}
	return count == 1 && o.steady(w)
}

// checkShares checks that the shares add up to the quota, and that nobody was refused
// below one.
func (o *oracle) checkShares(i int, w *window, s *stat, id int) {
	alive := o.alive(w)
	nodes := int64(len(alive))
	all, admitted := nodes > 0, int64(0)
	for _, n := range alive {
		c := s.byNode[n]
		admitted += c[1]
		if least := min(c[0], s.least/nodes); c[1] < least {
			o.failf("window %d: node %s admitted %d of %d requests of account %d, whose share is at least %d", i, n.id, c[1], c[0], id, s.least/nodes)
		}
		all = all && c[0] >= s.most
	}
	if all {
		o.seen.exact++
		if admitted != s.most {
			o.failf("window %d: the shares of %d nodes add up to %d of account %d's %d", i, nodes, admitted, id, s.most)
		}
	}
}
