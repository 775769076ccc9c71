package clusterlimit

import (
	"context"
	"slices"
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

// hangsFor is a [petcat.DayStore] whose calls hang that lease for some accounts.
type hangsFor struct {
	petcat.DayStore

	accounts []petcat.AccountID
}

func (s *hangsFor) LeaseShared(ctx context.Context, leases []petcat.SharedLease) ([]petcat.SharedLeased, error) {
	if slices.ContainsFunc(leases, func(l petcat.SharedLease) bool { return slices.Contains(s.accounts, l.Account) }) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.DayStore.LeaseShared(ctx, leases)
}

// TestSlowLeases: while a call of the store hangs, other accounts are leased for in three more
// at once. Only when all four hang others wait, too, as long as a request waits for a lease.
func TestSlowLeases(t *testing.T) {
	t.Parallel()
	for hung, want := range map[int]time.Duration{1: 0, 3: 0, 4: ratelimit.LeaseTimeout} {
		synctest.Test(t, func(t *testing.T) {
			store := &hangsFor{DayStore: limittest.NewDays().Process()}
			for i := range hung {
				store.accounts = append(store.accounts, petcat.AccountID(i+1))
			}
			l := testNodeWith(t, Options{
				Counters: counterstest.NewReference(1, func() int64 { return time.Now().UnixNano() }), Clock: clock.NewSystem(), Days: store,
			})
			send := func(account petcat.AccountID, want time.Duration) {
				began := time.Now()
				d, err := l.Spend(t.Context(), ratelimit.Charge{Account: account, Key: 1, Quota: petcat.Quota{PerMinute: 60, PerDay: 1_000}})
				if waited := time.Since(began); err != nil || d.Verdict != ratelimit.Admitted || waited != want {
					t.Errorf("%d calls hang, account %d: %+v, %v after %s, want it admitted after %s", hung, account, d, err, waited, want)
				}
			}
			var slow sync.WaitGroup
			for _, account := range store.accounts {
				slow.Go(func() { send(account, ratelimit.LeaseTimeout) })
				time.Sleep(time.Millisecond) // so that each has a call of its own
			}
			send(100, want)
			slow.Wait()
		})
	}
}
