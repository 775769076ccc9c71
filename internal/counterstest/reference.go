package counterstest

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"petcat"
	"petcat/internal/counters"
)

// Reference is a [counters.Counters] in memory, made of [counters.Account]. Its
// methods can be called at any time; what they do is done at once.
type Reference struct {
	now func() int64 // nanoseconds since the Unix epoch; what all partitions' clocks run on

	mu         sync.Mutex
	partitions []partition // guarded by mu
	epochs     int64       // begun so far; guarded by mu
}

// partition is what one partition counts. One whose epoch is zero begins its next one
// when it is called.
type partition struct {
	epoch    counters.Epoch
	ahead    int64 // of the common clock, nanoseconds
	accounts map[petcat.AccountID]counters.Account
	retries  map[petcat.KeyID]map[string]told
}

// told is a node's word on a key's early retries.
type told struct {
	retries int64
	at      int64 // by the partition's clock
}

var _ counters.Counters = (*Reference)(nil)

// NewReference returns empty counters whose clocks show now.
func NewReference(partitions int, now func() int64) *Reference {
	r := &Reference{now: now, partitions: make([]partition, partitions)}
	for p := range r.partitions {
		r.partitions[p] = emptyPartition()
	}
	return r
}

func emptyPartition() partition {
	return partition{
		accounts: make(map[petcat.AccountID]counters.Account),
		retries:  make(map[petcat.KeyID]map[string]told),
	}
}

// Empty makes a partition forget everything.
func (r *Reference) Empty(p int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ahead := r.partitions[p].ahead
	r.partitions[p] = emptyPartition()
	r.partitions[p].ahead = ahead
}

// Restart ends a partition's epoch. Its counts are kept.
func (r *Reference) Restart(p int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.partitions[p].epoch = counters.Epoch{}
}

// Copy returns a function that puts what a partition counts now in the place of what
// it counts then, in a new epoch: a replica that lags is promoted.
func (r *Reference) Copy(p int) (promote func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	replica := maps.Clone(r.partitions[p].accounts)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		ahead := r.partitions[p].ahead
		r.partitions[p] = emptyPartition()
		r.partitions[p].ahead, r.partitions[p].accounts = ahead, maps.Clone(replica)
	}
}

// Adopt puts what a partition counted in former epochs into the one that holds. No counters
// may do so: it is a fault that a simulation is to find.
func (r *Reference) Adopt(p int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, a := range r.partitions[p].accounts {
		a.Epoch = r.partitions[p].epoch.ID
		r.partitions[p].accounts[id] = a
	}
}

// Step sets a partition's clock forward, or back.
func (r *Reference) Step(p int, by time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.partitions[p].ahead += int64(by)
}

// Account returns what is counted of an account.
func (r *Reference) Account(id petcat.AccountID) counters.Account {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.partitions[counters.PartitionOf(id, len(r.partitions))].accounts[id]
}

// Partitions implements [counters.Counters].
func (r *Reference) Partitions() int { return len(r.partitions) }

// Probe implements [counters.Counters].
func (r *Reference) Probe(_ context.Context, p int) (counters.Epoch, int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now() + r.partitions[p].ahead
	return r.epoch(p, now), now, nil
}

// Charge implements [counters.Counters].
func (r *Reference) Charge(_ context.Context, p int, e counters.Epoch, charges []counters.Charge) ([]counters.Facts, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now() + r.partitions[p].ahead
	if err := r.check(p, now, e); err != nil {
		return nil, err
	}
	for i, c := range charges {
		if counters.PartitionOf(c.Account, len(r.partitions)) != p {
			return nil, fmt.Errorf("counterstest: %s is not of partition %d", c.Account, p)
		}
		for _, other := range charges[:i] {
			if other.Account == c.Account {
				return nil, fmt.Errorf("counterstest: two charges of one call are of %s", c.Account)
			}
		}
	}
	facts := make([]counters.Facts, len(charges))
	for i, c := range charges {
		a := r.partitions[p].accounts[c.Account]
		facts[i] = a.Charge(now, e.ID, c)
		r.partitions[p].accounts[c.Account] = a
	}
	return facts, nil
}

// Grant implements [counters.Counters].
func (r *Reference) Grant(_ context.Context, p int, e counters.Epoch, grants []counters.Grant) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.check(p, r.now()+r.partitions[p].ahead, e); err != nil {
		return err
	}
	for _, g := range grants {
		if a, ok := r.partitions[p].accounts[g.Account]; ok {
			a.Grant(e.ID, g)
			r.partitions[p].accounts[g.Account] = a
		}
	}
	return nil
}

// ShareRetries implements [counters.Counters].
func (r *Reference) ShareRetries(_ context.Context, p int, node string, keys []counters.KeyRetries) ([]int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now() + r.partitions[p].ahead
	elsewhere := make([]int64, len(keys))
	for i, k := range keys {
		words := r.partitions[p].retries[k.Key]
		if words == nil {
			words = make(map[string]told)
			r.partitions[p].retries[k.Key] = words
		}
		words[node] = told{retries: k.Retries, at: now}
		for other, word := range words {
			if age := now - word.at; age < 0 || age > counters.RetriesHold*int64(time.Second) {
				delete(words, other)
			} else if other != node {
				elsewhere[i] += word.retries
			}
		}
	}
	return elsewhere, nil
}

// check returns an error when a call names another epoch than the one that holds.
// The caller holds r.mu.
func (r *Reference) check(p int, now int64, e counters.Epoch) error {
	if holds := r.epoch(p, now); holds.ID != e.ID {
		return &counters.WrongEpoch{Now: holds}
	}
	return nil
}

// epoch returns the epoch that holds, which begins if there is none. The caller holds
// r.mu.
func (r *Reference) epoch(p int, now int64) counters.Epoch {
	if r.partitions[p].epoch.ID == 0 {
		r.epochs++
		r.partitions[p].epoch = counters.Epoch{ID: r.epochs<<20 + int64(p) + 1, Began: now}
	}
	return r.partitions[p].epoch
}
