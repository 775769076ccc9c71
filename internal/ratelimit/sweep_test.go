package ratelimit_test

import (
	"context"
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
		histories := func(what string, n int) {
			t.Helper()
			time.Sleep(time.Minute)
			synctest.Wait()
			want(t, what, r.Stats().Keys, n)
		}
		if _, err := r.Spend(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		refuse()
		histories("in the minute of the refusal", 1)
		r.clock.Advance(time.Minute)
		histories("after it", 0)

		if _, err := r.Spend(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		refuse()
		r.clock.Advance(3 * time.Second)
		for range 40 {
			refuse()
		}
		r.clock.Advance(24 * time.Hour)
		histories("a day after a ban", 1)
		r.clock.Advance(2 * time.Minute)
		histories("a clean day after its end", 0)
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

		r.clock.Advance(11 * time.Minute)
		time.Sleep(time.Minute)
		synctest.Wait()
		want(t, "the store's count after the next sweep", r.days.Count(1, today), 2)
	})
}

// What the store was not told yet is known here alone.
func TestSweepKeepsWhatIsOwed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newRigThatFails(t, limittest.Faults{Write: errDisk})
		r.admit(t, 490, 1)
		low := ratelimit.Charge{Account: 1, Key: 1, Quota: petcat.Quota{PerMinute: 1_000, PerDay: 100}}
		if d, err := r.Spend(t.Context(), low); err != nil || d.Verdict != ratelimit.DaySpent {
			t.Fatalf("Spend = %+v, %v; want the day spent", d, err)
		}
		r.clock.Advance(11 * time.Minute)
		time.Sleep(time.Minute)
		r.store.Break(limittest.Faults{})
		time.Sleep(2 * time.Second)
		want(t, "left of the old quota", r.admit(t, 1, 1), 499)
	})
}

func TestSweepGivesMemoryBack(t *testing.T) {
	wall := clock.NewManual(noon)
	m := ratelimit.NewMemory(ratelimit.Options{Clock: ratelimit.NewClock(wall), Days: leaseAll{}})
	t.Cleanup(func() { _ = m.Close(context.WithoutCancel(t.Context())) })
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	fill(t, m, 100_000) // as many returns as may wait for the store
	wall.Advance(11 * time.Minute)
	m.Sweep()
	want(t, "accounts", m.Stats().Accounts, 0)
	m.Drain()
	runtime.GC()
	runtime.ReadMemStats(&after)
	if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 2<<20 {
		t.Errorf("%d bytes are kept for nobody", kept)
	}
}

// maxBytesPerAccount is the promise of the package's documentation.
const maxBytesPerAccount = 300

// heapOf fills a limiter with accounts and returns the bytes that each takes.
func heapOf(tb testing.TB, accounts int) float64 {
	tb.Helper()
	m := ratelimit.NewMemory(ratelimit.Options{Clock: ratelimit.NewClock(clock.NewManual(noon)), Days: leaseAll{}})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	fill(tb, m, accounts)
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

// fill sends one request of each of so many accounts.
func fill(tb testing.TB, m *ratelimit.Memory, accounts int) {
	tb.Helper()
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
}

func TestMemoryPerAccount(t *testing.T) {
	if bytes := heapOf(t, 100_000); bytes > maxBytesPerAccount {
		t.Errorf("%.0f bytes an account, want at most %d", bytes, maxBytesPerAccount)
	}
}
