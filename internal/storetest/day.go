package storetest

import (
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

func testDays(t *testing.T, open Open) {
	today := petcat.Day.Index(noon.Unix())
	t.Run("leased and returned", func(t *testing.T) {
		f := start(t, open)
		wantEqual(t, "at first", 0, f.dayCount(t, 1, today))
		answers, err := f.LeaseDays(t.Context(), []petcat.DayLease{
			{Account: 1, Day: today, Want: 600, Quota: 1_000},
			{Account: 2, Day: today, Want: 10, Quota: 1_000},
			{Account: 1, Day: today, Want: 600, Quota: 1_000},
			{Account: 1, Day: today, Want: 1, Quota: 1_000},
			{Account: 1, Day: today + 1, Want: 1, Quota: 1_000},
		})
		must(t, answers, err)
		wantEqual(t, "the answers", []petcat.DayLeased{
			{Granted: 600, Count: 600}, {Granted: 10, Count: 10}, {Granted: 400, Count: 1_000}, {Granted: 0, Count: 1_000}, {Granted: 1, Count: 1},
		}, answers)
		if err := f.ReturnDays(t.Context(), []petcat.DayReturn{{Account: 1, Day: today, Unused: 300}, {Account: 2, Day: today, Unused: 99}, {Account: 3, Day: today, Unused: 1}}); err != nil {
			t.Fatal(err)
		}
		wantEqual(t, "after the return", 700, f.dayCount(t, 1, today))
		wantEqual(t, "never below nothing", 0, f.dayCount(t, 2, today))
		wantEqual(t, "nothing was leased", 0, f.dayCount(t, 3, today))
		wantEqual(t, "the next day", 1, f.dayCount(t, 1, today+1))
	})
	t.Run("a smaller quota grants nothing and takes nothing back", func(t *testing.T) {
		f := start(t, open)
		must2(t)(f.LeaseDays(t.Context(), []petcat.DayLease{{Account: 1, Day: today, Want: 900, Quota: 10_000}}))
		answers, err := f.LeaseDays(t.Context(), []petcat.DayLease{{Account: 1, Day: today, Want: 10, Quota: 500}})
		wantEqual(t, "the answers", []petcat.DayLeased{{Granted: 0, Count: 900}}, must(t, answers, err))
	})
	t.Run("nothing asked, nothing done", func(t *testing.T) {
		f := start(t, open)
		answers, err := f.LeaseDays(t.Context(), nil)
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
					answers, err := store.LeaseDays(t.Context(), []petcat.DayLease{{Account: 1, Day: today, Want: 13, Quota: quota}})
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
