package ratelimit_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/limittest"
	"petcat/internal/ratelimit"
)

// What is owed of a day that others have used up is not asked for again and again.
func TestFullDayIsNotLeased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newRigThatFails(t, limittest.Faults{Write: errDisk})
		r.admit(t, 100, 1)
		all := []petcat.DayLease{{Account: 1, Day: today, Want: 1_000, Quota: 1_000}}
		if _, err := r.days.Process().LeaseDays(t.Context(), petcat.DayCall{Caller: "another", Number: 1}, all); err != nil {
			t.Fatal(err)
		}
		before := r.days.Calls()
		r.store.Break(limittest.Faults{})
		time.Sleep(10 * time.Second)
		want(t, "Degraded after healing", r.Stats().Degraded, false)
		want(t, "the store's calls after healing", r.days.Calls()-before, 1)
		r.daySpent(t, 1)
	})
}

// asks is a store that keeps what it is asked to lease.
type asks struct {
	petcat.DayStore

	mu   sync.Mutex
	seen []petcat.DayLease // guarded by mu
}

func (a *asks) LeaseDays(ctx context.Context, call petcat.DayCall, leases []petcat.DayLease) ([]petcat.DayLeased, error) {
	a.mu.Lock()
	a.seen = append(a.seen, leases...)
	a.mu.Unlock()
	return a.DayStore.LeaseDays(ctx, call, leases)
}

// TestWaitersShareALease: requests that wait for the store are leased for at once, as far as
// their minute admits them, and those that have given up are not.
func TestWaitersShareALease(t *testing.T) {
	for name, tc := range map[string]struct {
		perMinute        int64
		before           int // requests of the minute that did not wait
		waiting, givenUp int
		leased, admitted int64
	}{
		"all of them":          {perMinute: 1_000, waiting: 50, leased: 50, admitted: 50},
		"as the minute admits": {perMinute: 30, waiting: 50, leased: 30, admitted: 30},
		// Of the 50, 5 spend what was leased ahead.
		"as the rest of it admits":     {perMinute: 30, before: 5, waiting: 50, leased: 20, admitted: 25},
		"those that have not given up": {perMinute: 1_000, waiting: 50, givenUp: 15, leased: 35, admitted: 35},
		"a block at least":             {perMinute: 1_000, waiting: 3, leased: 5, admitted: 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				days := limittest.NewDays()
				process := days.Process()
				store := &asks{DayStore: process}
				m := ratelimit.NewMemory(ratelimit.Options{Clock: ratelimit.NewClock(clock.NewManual(noon)), Days: store})
				quota := petcat.Quota{PerMinute: tc.perMinute, PerDay: 1_000}
				for range tc.before {
					if _, err := m.Spend(t.Context(), ratelimit.Charge{Account: 1, Key: 1, Quota: quota}); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
				}
				asked := len(store.seen)
				process.Break(limittest.Faults{Hang: true})
				go func() { _, _ = m.Spend(t.Context(), ratelimit.Charge{Account: 2, Key: 2, Quota: quota}) }()
				synctest.Wait() // the store is busy with another account
				impatient, giveUp := context.WithCancel(t.Context())
				var admitted atomic.Int64
				for i := range tc.waiting {
					ctx := t.Context()
					if i < tc.givenUp {
						ctx = impatient
					}
					go func() {
						if d, err := m.Spend(ctx, ratelimit.Charge{Account: 1, Key: 1, Quota: quota}); err == nil && d.Verdict == ratelimit.Admitted {
							admitted.Add(1)
						}
					}()
				}
				synctest.Wait()
				giveUp()
				synctest.Wait()
				process.Break(limittest.Faults{})
				synctest.Wait()
				want(t, "admitted", admitted.Load(), tc.admitted)
				var leased []int64
				for _, ask := range store.seen[asked:] {
					if ask.Account == 1 {
						leased = append(leased, ask.Want)
					}
				}
				want(t, "leased first", leased[0], tc.leased)
				if err := m.Close(context.WithoutCancel(t.Context())); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
