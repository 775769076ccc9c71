package storetest

import (
	"crypto/rand"
	"sync"
	"sync/atomic"
	"testing"

	"petcat"
)

func (f *fixture) dayCount(t *testing.T, account petcat.AccountID, day int64) int64 {
	t.Helper()
	n, err := f.DayCount(t.Context(), account, day)
	return must(t, n, err)
}

// aDayCall returns the first call of a caller of its own.
func aDayCall() petcat.DayCall { return petcat.DayCall{Caller: rand.Text(), Number: 1} }

func testDays(t *testing.T, open Open) {
	today := petcat.Day.Index(noon.Unix())
	t.Run("leased and returned", func(t *testing.T) {
		f := start(t, open)
		wantEqual(t, "at first", 0, f.dayCount(t, 1, today))
		answers, err := f.LeaseDays(t.Context(), aDayCall(), []petcat.DayLease{
			{Account: 2, Day: today, Want: 10, Quota: 1_000},
			{Account: 1, Day: today, Want: 600, Quota: 1_000},
			{Account: 1, Day: today + 1, Want: 1, Quota: 1_000},
		})
		must(t, answers, err)
		wantEqual(t, "the answers", []petcat.DayLeased{{Granted: 10, Count: 10}, {Granted: 600, Count: 600}, {Granted: 1, Count: 1}}, answers)
		for _, want := range []petcat.DayLeased{{Granted: 400, Count: 1_000}, {Granted: 0, Count: 1_000}} {
			answers, err := f.LeaseDays(t.Context(), aDayCall(), []petcat.DayLease{{Account: 1, Day: today, Want: 600, Quota: 1_000}})
			wantEqual(t, "near the quota", []petcat.DayLeased{want}, must(t, answers, err))
		}
		if err := f.ReturnDays(t.Context(), aDayCall(), []petcat.DayReturn{{Account: 1, Day: today, Unused: 300}, {Account: 2, Day: today, Unused: 99}, {Account: 3, Day: today, Unused: 1}}); err != nil {
			t.Fatal(err)
		}
		wantEqual(t, "after the return", 700, f.dayCount(t, 1, today))
		wantEqual(t, "never below nothing", 0, f.dayCount(t, 2, today))
		wantEqual(t, "nothing was leased", 0, f.dayCount(t, 3, today))
		wantEqual(t, "the next day", 1, f.dayCount(t, 1, today+1))
	})
	t.Run("a smaller quota grants nothing and takes nothing back", func(t *testing.T) {
		f := start(t, open)
		must2(t)(f.LeaseDays(t.Context(), aDayCall(), []petcat.DayLease{{Account: 1, Day: today, Want: 900, Quota: 10_000}}))
		answers, err := f.LeaseDays(t.Context(), aDayCall(), []petcat.DayLease{{Account: 1, Day: today, Want: 10, Quota: 500}})
		wantEqual(t, "the answers", []petcat.DayLeased{{Granted: 0, Count: 900}}, must(t, answers, err))
	})
	t.Run("twice the same account's day in one call", func(t *testing.T) {
		f := start(t, open)
		l := petcat.DayLease{Account: 1, Day: today, Want: 7, Quota: 1_000}
		if answers, err := f.LeaseDays(t.Context(), aDayCall(), []petcat.DayLease{l, l}); err == nil {
			t.Errorf("the answers are %v, want an error", answers)
		}
		wantEqual(t, "the count", 0, f.dayCount(t, 1, today))
	})
	t.Run("a call that is made again is done once", func(t *testing.T) { testDayCalls(t, open) })
	t.Run("nothing asked, nothing done", func(t *testing.T) {
		f := start(t, open)
		answers, err := f.LeaseDays(t.Context(), aDayCall(), nil)
		wantEqual(t, "the answers", 0, len(must(t, answers, err)))
	})
	t.Run("parallel leases never pass the quota", func(t *testing.T) {
		f := start(t, open)
		other := f.another(t)
		const quota = 1_000
		var granted atomic.Int64
		var wg sync.WaitGroup
		for g := range 32 {
			store := []Store{f.Store, other}[g%2]
			wg.Go(func() {
				for range 4 {
					answers, err := store.LeaseDays(t.Context(), aDayCall(), []petcat.DayLease{{Account: 1, Day: today, Want: 13, Quota: quota}})
					if err != nil {
						t.Errorf("lease: %v", err)
						return
					}
					granted.Add(answers[0].Granted)
				}
			})
		}
		wg.Wait()
		wantEqual(t, "granted", int64(quota), granted.Load())
		wantEqual(t, "counted", int64(quota), f.dayCount(t, 1, today))
	})
}

// testDayCalls: whoever does not know the outcome of a call makes it again, and
// whatever became of it, it is done once.
func testDayCalls(t *testing.T, open Open) {
	today := petcat.Day.Index(noon.Unix())
	f := start(t, open)
	other := f.another(t) // as after the connection to the first one broke
	call, returning := aDayCall(), aDayCall()
	asks := []petcat.DayLease{
		{Account: 2, Day: today, Want: 50, Quota: 1_000}, {Account: 1, Day: today, Want: 100, Quota: 1_000}, {Account: 3, Day: today, Want: 5, Quota: 0},
	}
	wantLeased := func(s Store, asks []petcat.DayLease, want ...petcat.DayLeased) {
		t.Helper()
		answers, err := s.LeaseDays(t.Context(), call, asks)
		wantEqual(t, "the answers", want, must(t, answers, err))
	}
	wantLeased(f.Store, asks, petcat.DayLeased{Granted: 50, Count: 50}, petcat.DayLeased{Granted: 100, Count: 100}, petcat.DayLeased{})
	// Somebody else's lease, with the same number.
	must2(t)(f.LeaseDays(t.Context(), aDayCall(), []petcat.DayLease{{Account: 1, Day: today, Want: 7, Quota: 1_000}}))
	for _, s := range []Store{f.Store, other, f.another(t)} {
		wantLeased(s, asks, petcat.DayLeased{Granted: 50, Count: 50}, petcat.DayLeased{Granted: 100, Count: 107}, petcat.DayLeased{})
	}
	// Other wants and quotas change nothing of what was granted.
	asks[0].Want, asks[1].Quota, asks[2].Quota = 1, 3, 1_000
	wantLeased(other, asks, petcat.DayLeased{Granted: 50, Count: 50}, petcat.DayLeased{Granted: 100, Count: 107}, petcat.DayLeased{})

	give := func(s Store, account petcat.AccountID, unused int64) {
		t.Helper()
		if err := s.ReturnDays(t.Context(), returning, []petcat.DayReturn{{Account: account, Day: today, Unused: unused}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []Store{f.Store, f.Store, other} {
		give(s, 1, 30)
		wantEqual(t, "after the return", 77, f.dayCount(t, 1, today))
	}
	returning.Number++
	give(f.Store, 2, 10)
	returning.Number--
	give(other, 1, 30) // overtaken by the other one
	wantEqual(t, "after a return that was overtaken", 77, f.dayCount(t, 1, today))
	wantEqual(t, "after the second return", 40, f.dayCount(t, 2, today))

	call.Number++
	wantLeased(f.Store, asks[:1], petcat.DayLeased{Granted: 1, Count: 41})
	call.Number--
	if answers, err := other.LeaseDays(t.Context(), call, asks); err == nil {
		t.Errorf("a lease that was overtaken is answered by %v, want an error", answers)
	}
	wantEqual(t, "after a lease that was overtaken", 41, f.dayCount(t, 2, today))
}
