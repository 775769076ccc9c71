package redislimit

import (
	"strconv"
	"sync/atomic"

	"petcat"
)

// lane is a part of the accounts that is lost and found together. A single
// server has one. A cluster has many, of neighbouring hash slots, so that the
// loss of one of its servers does not leave the accounts of the others to the
// nodes.
type lane struct {
	breaker

	nodes   string       // the key under which the nodes are heard
	heard   atomic.Int64 // how many nodes the server heard lately; 0: not known
	staying atomic.Int64 // how many of them are not about to leave
	part    atomic.Int64 // of the nodes, how many count together; 0: all

	// Of the beat's goroutine alone.
	missing  int    // beats in a row in which nodes were missing
	answered bool   // the last beat was
	missed   int    // beats in a row, each in its time, that were not answered
	told     string // the problem that the log was told last
}

const (
	hashSlots = 16_384
	// clusterLanes divide the hash slots: enough that few lanes have slots of two
	// servers, and few enough that their beats are no load.
	clusterLanes = 16
)

// newLanes returns the lanes of a topology, each with a key in one of its slots.
func newLanes(t topology, keys keyspace) []*lane {
	lanes := make([]*lane, 1)
	if t == cluster {
		lanes = make([]*lane, clusterLanes)
	}
	for found, i := 0, 0; found < len(lanes); i++ {
		tag := "nodes_" + strconv.Itoa(i)
		if k := laneOf(tag, len(lanes)); lanes[k] == nil {
			lanes[k] = &lane{nodes: string(keys) + ":{" + tag + "}"}
			lanes[k].mode.Store(uint32(alone))
			lanes[k].phase.Store(1)
			found++
		}
	}
	return lanes
}

// lane returns the lane of an account.
func (l *Limiter) lane(id petcat.AccountID) *lane {
	if len(l.lanes) == 1 {
		return l.lanes[0]
	}
	return l.lanes[laneOf(id.String(), len(l.lanes))]
}

func laneOf(tag string, lanes int) int { return int(slotOf(tag)) * lanes / hashSlots }

// slotOf returns a cluster's hash slot of the keys with a tag: the CRC16 of the
// tag, in the variant called XMODEM.
func slotOf(tag string) uint16 {
	var crc uint16
	for i := range len(tag) {
		crc ^= uint16(tag[i]) << 8
		for range 8 {
			carry := crc&0x8000 != 0
			crc <<= 1
			if carry {
				crc ^= 0x1021
			}
		}
	}
	return crc % hashSlots
}

// mode returns who decides: alone if there is a lane without a server.
func (l *Limiter) mode() mode {
	worst := together
	for _, ln := range l.lanes {
		switch ln.now() {
		case alone:
			return alone
		case joining:
			worst = joining
		case together:
		}
	}
	return worst
}

// lastNode reports whether the server hears of no other node that stays.
func (l *Limiter) lastNode() bool {
	for _, ln := range l.lanes {
		if ln.staying.Load() > 1 {
			return false
		}
	}
	return true
}
