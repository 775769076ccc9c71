package clusterlimit

import (
	"context"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/counterstest"
	"petcat/internal/limittest"
	"petcat/internal/ratelimit"
)

// busyStore is a [petcat.DayStore] that reads or writes so many rows a second, one call
// after the other.
type busyStore struct {
	petcat.DayStore

	perSecond int
	busy      chan struct{} // holds an element while a call is made
}

func (s *busyStore) take(ctx context.Context, rows int) error {
	select {
	case s.busy <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	time.Sleep(time.Second * time.Duration(rows) / time.Duration(s.perSecond))
	<-s.busy
	return ctx.Err()
}

func (s *busyStore) LeaseDays(ctx context.Context, call petcat.DayCall, leases []petcat.DayLease) ([]petcat.DayLeased, error) {
	if err := s.take(ctx, len(leases)); err != nil {
		return nil, err
	}
	return s.DayStore.LeaseDays(ctx, call, leases)
}

func (s *busyStore) LeaseShared(ctx context.Context, leases []petcat.SharedLease) ([]petcat.SharedLeased, error) {
	if err := s.take(ctx, len(leases)); err != nil {
		return nil, err
	}
	return s.DayStore.LeaseShared(ctx, leases)
}

func (s *busyStore) DayCount(ctx context.Context, account petcat.AccountID, day int64) (int64, error) {
	if err := s.take(ctx, 1); err != nil {
		return 0, err
	}
	return s.DayStore.DayCount(ctx, account, day)
}

// TestMidnight: accounts that were active in a day, and not in its last half an hour, all
// come back when the next one begins. The store needs 6.7 s for their leases. Nobody is refused,
// or waits longer than for a lease, and what was admitted without one is leased in the end.
// Here 6,000 accounts come in the same instant, to a store of 900 rows a second; in the long
// form 200,000 come within 5 s, to one of 30,000.
func TestMidnight(t *testing.T) {
	t.Parallel()
	accounts, perSecond, within := 6_000, 900, time.Duration(0)
	if os.Getenv("PETCAT_MIDNIGHT") == "long" {
		accounts, perSecond, within = 200_000, 30_000, 5*time.Second
	}
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(23 * time.Hour)
		days := limittest.NewDays()
		store := &busyStore{DayStore: days.Process(), perSecond: perSecond, busy: make(chan struct{}, 1)}
		l := New(t.Context(), Options{
			Counters: counterstest.NewReference(1, func() int64 { return time.Now().UnixNano() }), Clock: clock.NewSystem(), Days: store,
		})
		send := func(account int, patience time.Duration) {
			began := time.Now()
			c := ratelimit.Charge{Account: petcat.AccountID(account), Key: petcat.KeyID(account), Quota: petcat.Quota{PerMinute: 60, PerDay: 1_000}}
			d, err := l.Spend(t.Context(), c)
			if waited := time.Since(began); err != nil || d.Verdict != ratelimit.Admitted || waited > patience {
				t.Errorf("account %d: %+v, %v after %s", account, d, err, waited)
			}
		}
		for account := range accounts {
			send(account, time.Second)
		}
		midnight := time.Now().Truncate(24 * time.Hour).Add(24 * time.Hour)
		time.Sleep(time.Until(midnight))
		var all sync.WaitGroup
		for account := range accounts {
			all.Go(func() {
				time.Sleep(within * time.Duration(account) / time.Duration(accounts))
				send(account, ratelimit.LeaseTimeout)
			})
		}
		all.Wait()
		time.Sleep(time.Minute)
		for account := range accounts {
			if n := days.Count(petcat.AccountID(account), petcat.Day.Index(midnight.Unix())); n == 0 {
				t.Errorf("nothing of account %d's day is leased", account)
			}
		}
		_ = l.Close(context.WithoutCancel(t.Context()))
		time.Sleep(time.Minute) // calls that nobody waits for end
	})
}
