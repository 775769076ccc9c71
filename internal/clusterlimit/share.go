package clusterlimit

import (
	"cmp"
	"slices"
	"time"

	"petcat/internal/counters"
)

// share is a node's part of every quota while the counters are unavailable: it is one of so
// many nodes, in an order that all of them know. The zero share is none.
type share struct{ rank, nodes int64 }

// of returns the share of a number from 0 up. The shares of all ranks add up to it.
func (s share) of(n int64) int64 {
	if s.nodes == 0 {
		return 0
	}
	return (n - s.rank + s.nodes - 1) / s.nodes
}

const (
	// settleBefore is how long before a minute a node's row must have been written for
	// the node to have a share of it: all others have read it by then.
	settleBefore = 5 * time.Second
	// silentFor is for how long a node that was not heard keeps its share: as long as it
	// may go on without the database.
	silentFor = 30 * time.Second
	// silentForRoom is for how long others leave room for a node that said that it is
	// cut off. It is shorter, so that the room is never less than the share which that
	// node takes: it counts at least those among its number that the others count.
	silentForRoom = 20 * time.Second
	// heartbeat is how often a node says that it serves and reads who else does.
	// heartbeatCutOff is how often while one of them is cut off: the others leave room for
	// it until they have read that it is back.
	heartbeat, heartbeatCutOff = 2 * time.Second, 500 * time.Millisecond
)

// Membership is which nodes serve, as the database told at a moment. While it cannot
// tell, what it told last holds.
type Membership struct {
	ReadAt  int64  // monotonic clock, nanoseconds
	Self    string // this node
	Members []counters.Member
}

// shares returns the share of each node that has one of the minute which began at a
// moment (monotonic clock), of those that were heard for long enough. Where nobody was
// there early enough, those share that came with the first of all; until they all know
// of each other, whoever is known.
func (m *Membership) shares(began int64, silent time.Duration) map[string]share {
	var heard []counters.Member
	first := time.Duration(0)
	for _, n := range m.Members {
		// Heard so shortly before the minute that it may have used its share of it, or
		// heard since.
		if n.Seen <= max(silent, time.Duration(m.ReadAt-began)+silent) || n.ID == m.Self {
			heard = append(heard, n)
			first = max(first, n.Joined)
		}
	}
	// All nodes are told the same differences between the moments at which they joined.
	least := time.Duration(m.ReadAt-began) + settleBefore
	if first < least {
		if least = first - settleBefore/2; first < settleBefore {
			least, heard = 0, m.Members
		}
	}
	var early []string
	for _, n := range heard {
		if n.Joined >= least {
			early = append(early, n.ID)
		}
	}
	slices.SortFunc(early, cmp.Compare[string])
	shares := make(map[string]share, len(early))
	for rank, id := range early {
		shares[id] = share{int64(rank), int64(len(early))}
	}
	return shares
}

// own returns this node's share of the minute that began at a moment. A node that was
// not told of any is the only one.
func (m *Membership) own(began int64) share {
	if len(m.Members) == 0 {
		return share{0, 1}
	}
	return m.shares(began, silentFor)[m.Self]
}

// wait returns how long a request waits for the counters in the minute that began at a
// moment, where it is the timeout usually. A node without a share waits longer: for one
// answer that is late it would refuse callers until the minute ends.
func (m *Membership) wait(began int64, timeout time.Duration) time.Duration {
	for _, n := range m.Members {
		if n.ID == m.Self && n.Joined >= time.Duration(m.ReadAt-began)+settleBefore { // as nearly always
			return timeout
		}
	}
	if m.own(began).nodes == 0 {
		return timeoutsWithoutShare * timeout
	}
	return timeout
}

// timeoutsWithoutShare is how many times as long a node without a share waits for the counters.
const timeoutsWithoutShare = 4

// room returns how much of a quota the counters are to leave to nodes that say that
// they cannot reach a partition.
func (m *Membership) room(partition int, quota, began, mono int64) (n int64) {
	if mono-m.ReadAt > int64(silentFor) || !m.anyCutOff(1<<partition) {
		return 0
	}
	shares := m.shares(began, silentForRoom)
	for _, other := range m.Members {
		if other.ID != m.Self && other.CutOff&(1<<partition) != 0 && other.Seen <= silentForRoom {
			n += shares[other.ID].of(quota)
		}
	}
	return n
}

// anybodyBefore reports whether a node was there before a moment (monotonic clock) and
// not only about to begin.
func (m *Membership) anybodyBefore(moment int64) bool {
	return slices.ContainsFunc(m.Members, func(n counters.Member) bool {
		return m.ReadAt-int64(n.Joined) < moment-int64(settleBefore)
	})
}

// anyCutOff reports whether another node says that it cannot reach some of these
// partitions.
func (m *Membership) anyCutOff(partitions uint64) bool {
	return slices.ContainsFunc(m.Members, func(n counters.Member) bool {
		return n.ID != m.Self && n.CutOff&partitions != 0 && n.Seen <= silentForRoom
	})
}

// UntilHeartbeat returns when this node is to say again that it serves, after it said
// that it cannot reach some partitions.
func (m *Membership) UntilHeartbeat(cutOff uint64) time.Duration {
	if cutOff != 0 || m.anyCutOff(^uint64(0)) {
		return heartbeatCutOff
	}
	return heartbeat
}
