package ratelimit_test

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/limittest"
	"petcat/internal/ratelimit"
)

func TestSweepDropsTheIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		for id := range petcat.AccountID(5_000) {
			r.admit(t, 1, id+1)
		}
		r.clock.Advance(10 * time.Minute)
		r.admit(t, 1, 1)
		time.Sleep(time.Minute)
		synctest.Wait()
		want(t, "accounts after ten minutes", r.Stats().Accounts, 5_000)

		r.clock.Advance(time.Minute)
		time.Sleep(time.Minute)
		synctest.Wait()
		want(t, "accounts after eleven", r.Stats().Accounts, 1)
		for id := range petcat.AccountID(5_000) {
			used := int64(1)
			if id == 0 {
				continue // still has its lease
			}
			want(t, "the store's count", r.days.Count(id+1, today), used)
		}
		want(t, "left when an account comes back", r.admit(t, 1, 2), 998)
	})
}

func TestSweepForgetsOffenders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		c := ratelimit.Charge{Account: 1, Key: 1, Quota: petcat.Quota{PerMinute: 1, PerDay: 1_000}}
		refuse := func() {
			t.Helper()
			if d, err := r.Spend(t.Context(), c); err != nil || d.Verdict == ratelimit.Admitted {
				t.Fatalf("Spend = %+v, %v; want it refused", d, err)
			}
		}
		offenders := func(what string, n int) {
			t.Helper()
			time.Sleep(time.Minute)
			synctest.Wait()
			want(t, what, r.Stats().Offenders, n)
		}
		if _, err := r.Spend(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		refuse()
		offenders("in the minute of the refusal", 1)
		r.clock.Advance(time.Minute)
		offenders("after it", 0)

		if _, err := r.Spend(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		refuse()
		r.clock.Advance(3 * time.Second)
		for range 40 {
			refuse()
		}
		r.clock.Advance(24 * time.Hour)
		offenders("a day after a ban", 1)
		r.clock.Advance(2 * time.Minute)
		offenders("a clean day after its end", 0)
	})
}

// While the store takes nothing back, what is leased must stay in memory.
func TestSweepWhileTheStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.admit(t, 1, 1)
		synctest.Wait()
		r.store.Break(limittest.Faults{Write: errDisk})
		r.clock.Advance(11 * time.Minute)
		time.Sleep(time.Minute)
		r.store.Break(limittest.Faults{})
		time.Sleep(2 * time.Second)
		synctest.Wait()
		want(t, "the store's count", r.days.Count(1, today), 1)
		want(t, "left", r.admit(t, 1, 1), 998)
	})
}

// maxBytesPerAccount is the promise of the package's documentation.
const maxBytesPerAccount = 300

// heapOf fills a limiter with accounts and returns the bytes that each takes.
func heapOf(tb testing.TB, accounts int) float64 {
	tb.Helper()
	days := limittest.NewDays()
	store := days.Process()
	m := ratelimit.NewMemory(ratelimit.Options{Clock: ratelimit.NewClock(clock.NewManual(noon)), Days: leaseAll{store}})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	const senders = 32
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			for id := s; id < accounts; id += senders {
				c := ratelimit.Charge{Account: petcat.AccountID(id + 1), Key: petcat.KeyID(id + 1), Quota: thou}
				if d, err := m.Spend(tb.Context(), c); err != nil || d.Verdict != ratelimit.Admitted {
					tb.Errorf("Spend = %+v, %v; want it admitted", d, err)
					return
				}
			}
		})
	}
	wg.Wait()
	runtime.GC()
	runtime.ReadMemStats(&after)
	if n := m.Stats().Accounts; n != accounts {
		tb.Fatalf("%d accounts in memory, want %d", n, accounts)
	}
	if err := m.Close(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return float64(after.HeapAlloc-before.HeapAlloc) / float64(accounts)
}

func TestMemoryPerAccount(t *testing.T) {
	if bytes := heapOf(t, 100_000); bytes > maxBytesPerAccount {
		t.Errorf("%.0f bytes an account, want at most %d", bytes, maxBytesPerAccount)
	}
}
