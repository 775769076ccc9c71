package limittest

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"

	"petcat"
)

// Unreliable is a [petcat.DayStore] of whose answers many are lost while there is
// trouble: a call may be done or not, at once or long after its caller gave up, and
// the caller cannot tell.
type Unreliable struct {
	petcat.DayStore

	mu      sync.Mutex
	random  *rand.Rand // guarded by mu
	trouble bool       // guarded by mu
	late    []func()   // calls on their way; guarded by mu
}

var errLost = errors.New("limittest: the connection was lost")

// NewUnreliable returns a way to a store, without trouble at first.
func NewUnreliable(s petcat.DayStore, random *rand.Rand) *Unreliable {
	return &Unreliable{DayStore: s, random: random}
}

// Trouble begins or ends the trouble. Calls that are on their way arrive later.
func (u *Unreliable) Trouble(trouble bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.trouble = trouble
}

// LeaseDays implements [petcat.DayStore].
func (u *Unreliable) LeaseDays(ctx context.Context, call petcat.DayCall, leases []petcat.DayLease) (got []petcat.DayLeased, err error) {
	err = u.do(ctx, func(ctx context.Context) error {
		var err error
		got, err = u.DayStore.LeaseDays(ctx, call, leases)
		return err
	})
	if err != nil {
		return nil, err
	}
	return got, nil
}

// LeaseShared implements [petcat.DayStore].
func (u *Unreliable) LeaseShared(ctx context.Context, leases []petcat.SharedLease) (got []petcat.SharedLeased, err error) {
	err = u.do(ctx, func(ctx context.Context) error {
		var err error
		got, err = u.DayStore.LeaseShared(ctx, leases)
		return err
	})
	if err != nil {
		return nil, err
	}
	return got, nil
}

// ReturnDays implements [petcat.DayStore].
func (u *Unreliable) ReturnDays(ctx context.Context, call petcat.DayCall, returns []petcat.DayReturn) error {
	return u.do(ctx, func(ctx context.Context) error { return u.DayStore.ReturnDays(ctx, call, returns) })
}

// do makes a call, or not, or later.
func (u *Unreliable) do(ctx context.Context, call func(context.Context) error) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.random.IntN(3) == 0 {
		u.arrive()
	}
	if !u.trouble {
		return call(ctx)
	}
	switch u.random.IntN(6) {
	case 0:
		return call(ctx)
	case 1:
		return errLost
	case 2, 3:
		_ = call(ctx) // its outcome is lost
		return errLost
	case 4:
		u.late = append(u.late, func() { _ = call(context.WithoutCancel(ctx)) })
		return errLost
	default: // the caller gives up, and the call is on its way
		u.late = append(u.late, func() { _ = call(context.WithoutCancel(ctx)) })
		u.mu.Unlock()
		<-ctx.Done()
		u.mu.Lock()
		return ctx.Err()
	}
}

// arrive makes calls that are on their way, in any order. The caller holds u.mu.
func (u *Unreliable) arrive() {
	u.random.Shuffle(len(u.late), func(i, j int) { u.late[i], u.late[j] = u.late[j], u.late[i] })
	n := u.random.IntN(len(u.late) + 1)
	for _, call := range u.late[:n] {
		call()
	}
	u.late = u.late[n:]
}
