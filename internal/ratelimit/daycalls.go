package ratelimit

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"

	"petcat"
)

// DayBatch is how many leases or returns make one call, so that the first of a
// midnight's many do not wait for the last.
const DayBatch = 1_000

// DayLeases asks a store for leases, in calls of up to [DayBatch]. A call that was
// not answered may have been done: it is made again, as it was, until it is. W is
// whom a lease is for. One goroutine at a time may use it.
type DayLeases[W any] struct {
	store petcat.DayStore
	call  petcat.DayCall
	asks  []petcat.DayLease // of the call; empty: there is none to be made
	whom  []W               // of each of asks
}

// NewDayLeases returns one that nothing was asked of.
func NewDayLeases[W any](store petcat.DayStore) *DayLeases[W] {
	return &DayLeases[W]{store: store, call: petcat.DayCall{Caller: rand.Text(), Number: 1}}
}

// Add puts a lease into the next call. It may be called while no call is
// unanswered.
func (d *DayLeases[W]) Add(ask petcat.DayLease, whom W) {
	d.asks, d.whom = append(d.asks, ask), append(d.whom, whom)
}

// Waiting returns for whom the call is that is to be made, or to be made again.
func (d *DayLeases[W]) Waiting() []W { return d.whom }

// Ask makes the call. Its answers are in the order of whom.
func (d *DayLeases[W]) Ask(ctx context.Context) (whom []W, got []petcat.DayLeased, err error) {
	ctx, cancel := context.WithTimeout(ctx, StoreTimeout)
	defer cancel()
	got, err = d.store.LeaseDays(ctx, d.call, d.asks)
	if err == nil && len(got) != len(d.asks) {
		err = fmt.Errorf("the store answered %d of %d leases", len(got), len(d.asks))
	}
	if err != nil {
		return nil, nil, fmt.Errorf("leasing requests of the day: %w", err)
	}
	whom = d.whom
	d.asks, d.whom = nil, nil
	d.call.Number++
	return whom, got, nil
}

// DayReturns gives back what was leased and not used. A call that was not answered
// may have been done: it is made again, as it was, before any other. It is safe for
// concurrent use.
type DayReturns struct {
	store petcat.DayStore

	sending sync.Mutex // held while calls are made
	call    petcat.DayCall

	mu    sync.Mutex
	queue []petcat.DayReturn // guarded by mu
	under []petcat.DayReturn // of the call that is not answered; guarded by mu
}

// NewDayReturns returns one that has nothing to give back.
func NewDayReturns(store petcat.DayStore) *DayReturns {
	return &DayReturns{store: store, call: petcat.DayCall{Caller: rand.Text(), Number: 1}}
}

// Add takes what is to be given back by the next Send.
func (d *DayReturns) Add(returns ...petcat.DayReturn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queue = append(d.queue, returns...)
}

// Backlog returns how many returns wait for the store.
func (d *DayReturns) Backlog() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.queue) + len(d.under)
}

// Send gives back all that waits, and calls done with what the store has taken.
// What it does not take, or does not answer, is kept for the next Send.
func (d *DayReturns) Send(ctx context.Context, done func([]petcat.DayReturn)) error {
	d.sending.Lock()
	defer d.sending.Unlock()
	for {
		returns := d.next()
		if len(returns) == 0 {
			return nil
		}
		if err := d.send(ctx, returns); err != nil {
			return fmt.Errorf("giving back unused requests of the day: %w", err)
		}
		d.call.Number++
		d.mu.Lock()
		d.under = nil
		d.mu.Unlock()
		if done != nil {
			done(returns)
		}
	}
}

func (d *DayReturns) send(ctx context.Context, returns []petcat.DayReturn) error {
	ctx, cancel := context.WithTimeout(ctx, StoreTimeout)
	defer cancel()
	return d.store.ReturnDays(ctx, d.call, returns)
}

// next returns the returns of the call that is to be made, or to be made again.
func (d *DayReturns) next() []petcat.DayReturn {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.under) == 0 {
		n := min(len(d.queue), DayBatch)
		d.under, d.queue = d.queue[:n:n], d.queue[n:]
		if len(d.queue) == 0 {
			d.queue = nil // an empty rest would keep the memory of all
		}
	}
	return d.under
}
