// Package counters defines what several nodes count together, and how: the use of
// each account's minute, the blocks of its day that are leased for all nodes, and
// each key's early retries.
//
// [Counters] is the interface; Redis, PostgreSQL and a simulation implement it, and
// pass the suite in package counterstest, which compares each with the same
// reference. What a node does with the facts, and without them while the counters
// are unavailable, is up to package clusterlimit.
//
// # Partitions and epochs
//
// Accounts are divided into partitions, which can fail one by one: the servers of a
// cluster. Each partition has an [Epoch], which ends when its counts may be lower
// than reported: when it was started, was emptied, or was taken over by a replica. A
// call names the epoch that its caller knows and does nothing in another, so that
// every node learns that the counts may be too low.
//
// # The day
//
// How much of a day is used is kept by the [petcat.DayStore]. Nodes lease blocks of
// it for the counters ([petcat.DayStore].LeaseShared) and grant them. A grant
// carries the sum of its series, not a difference, so anybody can repeat it without
// effect. A series ends when the counters forget the account's day; what was left of
// the series' last block is lost to the account.
package counters

import (
	"context"
	"fmt"
	"math/rand/v2"

	"petcat"
)

// MaxPartitions is how many partitions there may be: so many bits tell which of
// them a node cannot reach.
const MaxPartitions = 64

// Counters is what nodes count on together. It is safe for concurrent use. An error
// other than [*WrongEpoch] leaves the outcome of a call unknown; no call is made again
// by an implementation when its outcome is unknown. A call ends when its context does.
type Counters interface {
	// Partitions returns how many partitions there are, from 1 to MaxPartitions. It
	// never changes.
	Partitions() int
	// Probe reaches a partition, and begins its next epoch if that is due. It returns
	// the epoch and the time, in nanoseconds since the Unix epoch, by the partition's
	// clock.
	Probe(ctx context.Context, partition int) (epoch Epoch, now int64, err error)
	// Charge decides charges of accounts of one partition, each in one atomic step.
	// No two may be of the same account. The facts are in the order of the charges.
	Charge(ctx context.Context, partition int, epoch Epoch, charges []Charge) ([]Facts, error)
	// Grant tells a partition what was leased for its accounts.
	Grant(ctx context.Context, partition int, epoch Epoch, grants []Grant) error
	// ShareRetries tells how many early retries keys have made on this node, and
	// returns how many they have made on the others, as these told within the last
	// RetriesHold, in the order of the keys. It needs no epoch: what is
	// forgotten makes bans late, not early.
	ShareRetries(ctx context.Context, partition int, node string, keys []KeyRetries) (elsewhere []int64, err error)
}

// RetriesHold is for how many seconds a node's word on a key's early retries holds.
const RetriesHold = 3

// PartitionOf returns the partition of an account.
func PartitionOf(account petcat.AccountID, partitions int) int {
	return int(uint64(account) % uint64(partitions))
}

// idBits is how many bits an id of an epoch or a series has at most: Redis' scripts hold 53,
// and calls carry 48.
const idBits = 48

// NewID returns an id of an epoch or a series: random, from 1, below 2^48.
func NewID() int64 { return 1 + rand.Int64N(1<<idBits-1) }

// Epoch is a time in which a partition's counts lack nothing that was told of them.
// The zero Epoch is none.
type Epoch struct {
	ID    int64 // see [NewID]
	Began int64 // by the partition's clock, nanoseconds since the Unix epoch
}

// WrongEpoch is the error of a call that named an epoch that is over. Nothing was
// done.
type WrongEpoch struct {
	Now Epoch // the one that holds
}

func (e *WrongEpoch) Error() string {
	return fmt.Sprintf("the counters began a new epoch (%d): they were started, emptied or replaced", e.Now.ID)
}

// Charge asks for requests of an account to be admitted.
type Charge struct {
	Account  petcat.AccountID
	Requests int64 // how many ask; as many are admitted as there is room for; may be 0
	// Reported is what this node has admitted of Minute without the counters. It is
	// added to the minute first, whatever its limit, if it is that minute still.
	Reported int64
	Minute   int64 // an index: Unix time / 60
	// DayUsed is how much of the day that Minute is in was used or leased when this node
	// last leased of it for itself. If the day is that one still and known, its count is
	// no less from then on.
	DayUsed int64
	// PerMinute is the highest count of the minute that this charge may reach.
	PerMinute int64
	PerDay    int64
	// Overdraw admits what is not leased: the day store is unavailable.
	Overdraw bool
	// Series names the series of grants that begins if the counters know none for the
	// account's day; see [NewID].
	Series int64
}

// Facts is what became of a charge.
type Facts struct {
	Now        int64 // the partition's clock, nanoseconds since the Unix epoch
	Admitted   int64 // of Charge.Requests
	MinuteUsed int64 // of the minute that Now is in, after this charge
	Day        Day   // that Now is in, after this charge
}

// Day is what the counters know of an account's day.
type Day struct {
	Series  int64
	Known   bool  // a grant of the series has arrived, on this day or before; until then nothing is admitted
	Count   int64 // used or leased by everybody, as the day store last told
	Granted int64 // in this series
	Free    int64 // of Granted, not spent
	Owed    int64 // admitted beyond what was granted
}

// Used returns how much of the day is used.
func (d Day) Used() int64 { return d.Count - d.Free + d.Owed }

// Unsure reports whether Used may be too much where a quota is not leased as a whole: what is
// owed may be in Count already, because a node leased it while the counters were
// unavailable. It then counts twice until the next grant.
func (d Day) Unsure(perDay int64) bool { return d.Owed > 0 && d.Count < perDay }

// Grant tells what the day store has leased for an account's day in a series. One of
// another series, or with a smaller sum than is known, changes nothing; one with the
// same sum makes the day known, and the count no smaller. What is owed is paid from a
// grant first. A grant for the day after the account's is kept for that day.
type Grant struct {
	Account petcat.AccountID
	Day     int64 // index: Unix time / 86,400
	Series  int64
	Granted int64 // the sum in the series, on that day
	Count   int64 // used or leased by everybody, Granted included
}

// KeyRetries is how many early retries a key has made lately on one node.
type KeyRetries struct {
	Key     petcat.KeyID
	Retries int64
}
