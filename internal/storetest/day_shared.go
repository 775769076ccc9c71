package storetest

import (
	"sync"
	"testing"

	"petcat"
)

// wantShared leases for the shared counters of one account and one day.
func wantShared(t *testing.T, s Store, l petcat.SharedLease, want petcat.SharedLeased) {
	t.Helper()
	got, err := s.LeaseShared(t.Context(), []petcat.SharedLease{l})
	wantEqual(t, "the answers", []petcat.SharedLeased{want}, must(t, got, err))
}

func testSharedDays(t *testing.T, open Open) {
	today := petcat.Day.Index(noon.Unix())
	// of returns a lease of account 1: its series, what the counters know, and how
	// much is wanted.
	of := func(series, known, want int64) petcat.SharedLease {
		return petcat.SharedLease{Account: 1, Day: today, Want: want, Quota: 1_000, Series: series, Granted: known}
	}
	t.Run("whoever repeats a lease is told what was leased", func(t *testing.T) {
		f := start(t, open)
		other := f.another(t)
		for _, s := range []Store{f.Store, other, f.Store} {
			wantShared(t, s, of(7, 0, 100), petcat.SharedLeased{Granted: 100, Count: 100})
		}
		// Two nodes that want different blocks: the second gets the first one's.
		wantShared(t, f, of(7, 100, 30), petcat.SharedLeased{Granted: 130, Count: 130})
		wantShared(t, other, of(7, 100, 50), petcat.SharedLeased{Granted: 130, Count: 130})
		// A lease that was long on its way.
		wantShared(t, other, of(7, 0, 100), petcat.SharedLeased{Granted: 130, Count: 130})
		wantShared(t, other, of(7, 130, 0), petcat.SharedLeased{Granted: 130, Count: 130})
	})
	t.Run("near the quota", func(t *testing.T) {
		f := start(t, open)
		wantShared(t, f, of(7, 0, 900), petcat.SharedLeased{Granted: 900, Count: 900})
		wantShared(t, f, of(7, 900, 300), petcat.SharedLeased{Granted: 1_000, Count: 1_000})
		wantShared(t, f, of(7, 1_000, 300), petcat.SharedLeased{Granted: 1_000, Count: 1_000})
		smaller := of(7, 1_000, 10)
		smaller.Quota = 500
		wantShared(t, f, smaller, petcat.SharedLeased{Granted: 1_000, Count: 1_000})
		smaller.Series, smaller.Granted = 8, 0
		wantShared(t, f, smaller, petcat.SharedLeased{Granted: 0, Count: 1_000})
	})
	t.Run("beside the leases of nodes that decide alone", func(t *testing.T) {
		f := start(t, open)
		wantShared(t, f, of(7, 0, 100), petcat.SharedLeased{Granted: 100, Count: 100})
		answers, err := f.LeaseDays(t.Context(), aDayCall(), []petcat.DayLease{{Account: 1, Day: today, Want: 50, Quota: 1_000}})
		wantEqual(t, "alone", []petcat.DayLeased{{Granted: 50, Count: 150}}, must(t, answers, err))
		wantShared(t, f, of(7, 0, 100), petcat.SharedLeased{Granted: 100, Count: 150})
		if err := f.ReturnDays(t.Context(), aDayCall(), []petcat.DayReturn{{Account: 1, Day: today, Unused: 20}}); err != nil {
			t.Fatal(err)
		}
		wantShared(t, f, of(7, 100, 1), petcat.SharedLeased{Granted: 101, Count: 131})
		wantEqual(t, "the count", 131, f.dayCount(t, 1, today))
	})
	t.Run("another series", func(t *testing.T) {
		f := start(t, open)
		wantShared(t, f, of(7, 0, 100), petcat.SharedLeased{Granted: 100, Count: 100})
		wantShared(t, f, of(8, 0, 10), petcat.SharedLeased{Granted: 10, Count: 110})
		wantShared(t, f, of(8, 10, 10), petcat.SharedLeased{Granted: 20, Count: 120})
		// A late lease of the old series costs its own block, and the new series goes
		// on from what its counters know.
		wantShared(t, f, of(7, 100, 5), petcat.SharedLeased{Granted: 105, Count: 125})
		wantShared(t, f, of(8, 20, 10), petcat.SharedLeased{Granted: 30, Count: 135})
		wantShared(t, f, of(8, 20, 10), petcat.SharedLeased{Granted: 30, Count: 135})
	})
	t.Run("many in one call, in the order of the questions", func(t *testing.T) {
		f := start(t, open)
		tomorrow := of(7, 0, 3)
		tomorrow.Day++
		second := of(9, 0, 4)
		second.Account = 2
		want := []petcat.SharedLeased{{Granted: 4, Count: 4}, {Granted: 3, Count: 3}, {Granted: 5, Count: 5}}
		for range 2 {
			got, err := f.LeaseShared(t.Context(), []petcat.SharedLease{second, tomorrow, of(7, 0, 5)})
			wantEqual(t, "the answers", want, must(t, got, err))
		}
		got, err := f.LeaseShared(t.Context(), nil)
		wantEqual(t, "the answers to nothing", 0, len(must(t, got, err)))
	})
	t.Run("twice the same account's day in one call", func(t *testing.T) {
		f := start(t, open)
		if got, err := f.LeaseShared(t.Context(), []petcat.SharedLease{of(7, 0, 5), of(7, 0, 5)}); err == nil {
			t.Errorf("the answers are %v, want an error", got)
		}
		wantEqual(t, "the count", 0, f.dayCount(t, 1, today))
	})
	t.Run("parallel leases of two series never pass the quota", func(t *testing.T) {
		f := start(t, open)
		other := f.another(t)
		var known [2]sharedSum
		var wg sync.WaitGroup
		for g := range 16 {
			store, sum := []Store{f.Store, other}[g%2], &known[g/2%2]
			wg.Go(func() {
				for range 8 {
					got, err := store.LeaseShared(t.Context(), []petcat.SharedLease{of(int64(7+g/2%2), sum.get(), 13)})
					if err != nil {
						t.Errorf("lease: %v", err)
						return
					}
					sum.tell(got[0].Granted)
				}
			})
		}
		wg.Wait()
		count := f.dayCount(t, 1, today)
		if granted := known[0].get() + known[1].get(); granted > count || count > 1_000 {
			t.Errorf("granted %d, counted %d", granted, count)
		}
	})
}

// sharedSum is what the counters know of a series: the largest sum that they were
// told.
type sharedSum struct {
	mu  sync.Mutex
	sum int64 // guarded by mu
}

func (s *sharedSum) get() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sum
}

func (s *sharedSum) tell(sum int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sum = max(s.sum, sum)
}

// testSharedDaysOnNodes: nodes that lease for the same counters at once, in different
// orders, lease each block once and do not wait for each other for ever.
func testSharedDaysOnNodes(t *testing.T, open OpenShared) {
	all := nodes(t, open)
	const accounts, quota, rounds = 40, 500, 30
	today := petcat.Day.Index(noon.Unix())
	var known [accounts]sharedSum
	var wg sync.WaitGroup
	for i, store := range all {
		for worker := range 2 {
			wg.Go(func() {
				for r := range rounds {
					var leases []petcat.SharedLease
					for a := range accounts {
						at := (a*(2*worker+1) + i*13 + r) % accounts
						leases = append(leases, petcat.SharedLease{
							Account: petcat.AccountID(1 + at), Day: today, Want: int64(5 + i), Quota: quota, Series: 7, Granted: known[at].get(),
						})
					}
					got, err := store.LeaseShared(t.Context(), leases)
					if err != nil {
						t.Errorf("lease: %v", err)
						return
					}
					for n, a := range got {
						known[leases[n].Account-1].tell(a.Granted)
					}
				}
			})
		}
	}
	wg.Wait()
	for a := range accounts {
		count, err := all[0].DayCount(t.Context(), petcat.AccountID(1+a), today)
		must(t, count, err)
		if granted := known[a].get(); count != granted || count > quota || count < rounds*5 {
			t.Errorf("account %d: counted %d, granted %d, quota %d", a+1, count, granted, quota)
		}
	}
}
