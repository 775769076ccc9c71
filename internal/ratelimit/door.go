package ratelimit

import (
	"context"

	"github.com/petcat-api/petcat/internal/clock"
)

// Door checks the credentials of one kind: API keys, sessions, sign-in links or operator tokens, which
// clients K send. Its rule is that failures never reject a valid credential:
//
//  1. A malformed credential is a failure, without a look-up.
//  2. [Door.LookUp] looks up a well-formed one, whatever its address did before.
//  3. A valid credential is not counted. [Door.Fail] counts a failure of the address, an IPv4 address
//     or an IPv6 /64, before the response. Over the limit per minute, failures get 429.
//  4. The address table is bounded; addresses beyond it share one count.
//  5. A limited number of credentials is looked up at a time; the others wait in order. Addresses
//     that have reached their limit have few, separate places, so a flood of well-formed wrong
//     credentials delays only such addresses. None is rejected because others wait: the listener's
//     limit of connections bounds how many there are.
//
// Use [NewDoor].
type Door[K comparable] struct {
	failures *Bucket[K]
	lookups  *Lookups
}

// NewDoor returns a door that allows limit failures of an address per minute. Doors may share the
// look-ups.
func NewDoor[K comparable](c clock.Clock, limit int64, l *Lookups) *Door[K] {
	return &Door[K]{failures: NewBucket[K](c, limit, MaxAddresses), lookups: l}
}

// Limit returns the number of failures that an address may have in a minute.
func (d *Door[K]) Limit() int64 { return d.failures.Limit() }

// State returns an address's failures.
func (d *Door[K]) State(from K) BucketDecision { return d.failures.Peek(from) }

// Fail counts a failure of an address. If it is rejected, it must get 429.
func (d *Door[K]) Fail(from K) BucketDecision { return d.failures.Take(from) }

// LookUp waits for a place, calls find, which looks up a well-formed credential, and returns its error.
// It also returns if ctx is canceled before find is called.
func (d *Door[K]) LookUp(ctx context.Context, from K, find func() error) error {
	if d.State(from).Minute.Remaining() > 0 {
		return d.lookups.usual.call(ctx, find)
	}
	return d.lookups.suspect.call(ctx, find)
}

// Lookups limits the look-ups of doors. Use [NewLookups].
type Lookups struct {
	usual   places
	suspect places // for addresses that have reached their limit
}

// suspectShare is the fraction of the look-ups for addresses that have reached their limit.
const suspectShare = 8

// NewLookups returns look-ups of which a number runs at a time, and further ones wait. Addresses that
// have reached their limit may run an extra eighth.
func NewLookups(running int) *Lookups {
	return &Lookups{
		usual:   make(places, running),
		suspect: make(places, max(1, running/suspectShare)),
	}
}

// places is a semaphore. It holds a value for each taken place. Waiters get a place in order.
type places chan struct{}

// call calls f in a place.
func (p places) call(ctx context.Context, f func() error) error {
	select {
	case p <- struct{}{}:
	default: // a free place is taken even if ctx is canceled
		select {
		case p <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	defer func() { <-p }()
	return f()
}
