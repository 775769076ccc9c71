package e2e

import (
	"fmt"
	"time"
)

// What docs/scaling.md promises of one minute, worked out from what happened in it.

const (
	// recovery is how long after a fault all nodes that are not frozen use the counters.
	recovery = 3 * time.Second
	// silence is how long after a fault of the counters no node leaves room any more for
	// another that said that it is cut off: it says that it is back with its next beat, and
	// is heard with the next of the others.
	silence = 8 * time.Second
	// forgotten is the same where the node could not say so.
	forgotten = 45 * time.Second
	// steadyFor is how long before a minute nothing may have happened to nodes for all of
	// them to agree who has a share of it.
	steadyFor = 40 * time.Second
	// knownAfter is until the others know that a node is cut off.
	knownAfter = 6 * time.Second
)

// bound is how much of a quota may be admitted in a minute.
type bound struct {
	name  string
	times int64          // the quota
	share int64          // and of so many nodes the share of one; 0: none
	well  bool           // the counters are
	exact bool           // and nobody is refused before the quota is used up
	hit   []*tortureNode // may have had to do without the counters
}

func (b bound) of(quota int64) int64 {
	most := b.times * quota
	if b.share > 0 {
		most += (quota + b.share - 1) / b.share
	}
	return most
}

func (b bound) String() string {
	text := fmt.Sprintf("%d times the quota", b.times)
	if b.share > 0 {
		text += fmt.Sprintf(" and the share of one of %d", b.share)
	}
	return text
}

// bound returns the bound of the minute that begins at a moment, of nodes that were there
// at some time of it.
func (i *incidents) bound(begin time.Time, nodes []*tortureNode) bound {
	m := minuteOfFaults{incidents: i, begin: begin, end: begin.Add(time.Minute), nodes: nodes}
	var hit []*tortureNode
	for _, n := range nodes {
		if m.hit(n) {
			hit = append(hit, n)
		}
	}
	b := m.bound(hit)
	b.hit = hit
	if !b.well && m.disputed() {
		b.times++
		b.name += ", while a node joined that others may not have known"
	}
	return b
}

type minuteOfFaults struct {
	*incidents
	begin, end time.Time
	nodes      []*tortureNode
}

func (m minuteOfFaults) bound(hit []*tortureNode) bound {
	switch {
	case len(hit) == 0 && len(m.between(m.begin, m.end)) == 0:
		return bound{name: "all is well", times: 1, well: true, exact: m.exact()}
	case len(hit) == 0:
		return bound{name: "the counters are well, and a node or PostgreSQL is not", times: 1, well: true, exact: m.exact()}
	case m.epoch():
		return bound{name: "an epoch begins", times: 2}
	case m.without():
		return bound{name: "without counters", times: 1}
	case len(hit) == 1 && m.steady() && !m.slow(hit[0]) && m.known(hit[0]):
		return bound{name: "one node is cut off, and all know", times: 1}
	case len(hit) == 1 && m.steady() && !m.slow(hit[0]):
		return bound{name: "one node is cut off", times: 1, share: int64(len(m.nodes))}
	}
	return bound{name: "the counters are lost or come back", times: 2}
}

// hit reports whether a node may have had to do without the counters in some of the
// minute. If it was frozen when they came back, it does not know until it is awake.
func (m minuteOfFaults) hit(n *tortureNode) bool {
	around := m.between(m.begin.Add(-5*time.Minute), m.end)
	for _, f := range around {
		if !f.kind.counters(m.database) || !f.hits(n) {
			continue
		}
		f.to = f.to.Add(recovery)
		for _, frozen := range around {
			if frozen.kind == nodeFrozen && frozen.node == n && frozen.overlaps(f.from, f.to) {
				f.to = later(f.to, frozen.to.Add(recovery))
			}
		}
		if f.overlaps(later(m.begin, n.begun), m.end) {
			return true
		}
	}
	return false
}

// epoch reports whether counts were lost in the minute: nodes are told with the next call.
func (m minuteOfFaults) epoch() bool {
	for _, f := range m.between(m.begin.Add(-recovery), m.end) {
		if f.kind.epoch(m.database) && f.to.Before(m.end) {
			return true
		}
	}
	return false
}

// without reports whether there were no counters from the minute's beginning to its end.
func (m minuteOfFaults) without() bool {
	for _, f := range m.between(m.begin.Add(-time.Second), m.end) {
		if f.node == nil && f.kind.counters(m.database) && f.from.Before(m.begin.Add(-time.Second)) && f.to.After(m.end) {
			return true
		}
	}
	return false
}

// exact reports whether nobody is refused before the quota is used up: no node leaves room
// any more for another that was cut off.
func (m minuteOfFaults) exact() bool {
	around := m.between(m.begin.Add(-forgotten-2*time.Minute), m.end)
	for _, f := range around {
		if !f.kind.counters(m.database) {
			continue
		}
		until := f.to.Add(silence)
		for _, other := range around {
			mute := other.kind.store() || other.kind == nodeKilled || other.kind == nodeFrozen || other.kind == nodeStopped
			if mute && other.overlaps(f.from, f.to.Add(silence)) {
				until = later(until, later(f.to, other.to).Add(forgotten))
			}
		}
		if !until.Before(m.begin) {
			return false
		}
	}
	return true
}

// steady reports whether all nodes knew of each other, and of no others, for long before
// the minute and in all of it.
func (m minuteOfFaults) steady() bool {
	for _, f := range m.between(m.begin.Add(-steadyFor), m.end) {
		if f.kind.store() || f.kind >= nodeKilled {
			return false
		}
	}
	return true
}

// disputed reports whether a node has joined of which another may not have known: that one
// was frozen, or had no PostgreSQL.
func (m minuteOfFaults) disputed() bool {
	for _, join := range m.between(m.begin.Add(-forgotten), m.end) {
		if join.kind != nodeStarted {
			continue
		}
		for _, f := range m.between(join.from.Add(-forgotten), m.end) {
			if f.kind.store() || f.kind == nodeFrozen {
				return true
			}
		}
	}
	return false
}

// slow reports whether the way of a node to the counters was slow in the minute: it was
// lost again and again.
func (m minuteOfFaults) slow(n *tortureNode) bool {
	for _, f := range m.between(m.begin.Add(-recovery), m.end) {
		if f.kind == redisSlow && f.node == n {
			return true
		}
	}
	return false
}

// known reports whether all knew before the minute that a node is cut off, and that it was
// until the minute's end, or came back once.
func (m minuteOfFaults) known(n *tortureNode) bool {
	count := 0
	for _, f := range m.between(m.begin.Add(-2*time.Minute), m.end) {
		if !f.kind.counters(m.database) || !f.hits(n) {
			continue
		}
		if count++; f.node == nil || f.from.After(m.begin.Add(-knownAfter)) || f.to.Before(m.begin) {
			return false
		}
	}
	return count == 1
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
