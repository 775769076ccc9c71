package ratelimit_test

import (
	"context"
	"net/netip"
	"sync/atomic"
	"testing"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/ratelimit"
)

var unlimited = petcat.Quota{PerMinute: petcat.MaxQuota, PerDay: petcat.MaxQuota}

func newBench(tb testing.TB) *ratelimit.Memory {
	tb.Helper()
	m := ratelimit.NewMemory(ratelimit.Options{Clock: ratelimit.NewClock(clock.NewSystem()), Days: leaseAll{}})
	tb.Cleanup(func() { _ = m.Close(context.WithoutCancel(tb.Context())) })
	return m
}

// BenchmarkSpend measures a decision.
func BenchmarkSpend(b *testing.B) {
	b.Run("admitted", func(b *testing.B) {
		m := newBench(b)
		benchSpend(b, m, ratelimit.Charge{Account: 1, Key: 1, Quota: unlimited}, ratelimit.Admitted)
	})
	b.Run("refused", func(b *testing.B) {
		m := newBench(b)
		benchSpend(b, m, ratelimit.Charge{Account: 1, Key: 1, Quota: petcat.Quota{PerMinute: petcat.MaxQuota}}, ratelimit.DaySpent)
	})
	b.Run("parallel/one account", func(b *testing.B) {
		m := newBench(b)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				_, _ = m.Spend(b.Context(), ratelimit.Charge{Account: 1, Key: 1, Quota: unlimited})
			}
		})
	})
	b.Run("parallel/own accounts", func(b *testing.B) {
		m := newBench(b)
		var ids atomic.Int64
		b.RunParallel(func(pb *testing.PB) {
			id := ids.Add(1)
			for pb.Next() {
				_, _ = m.Spend(b.Context(), ratelimit.Charge{Account: petcat.AccountID(id), Key: petcat.KeyID(id), Quota: unlimited})
			}
		})
	})
}

func benchSpend(b *testing.B, m *ratelimit.Memory, c ratelimit.Charge, want ratelimit.Verdict) {
	b.Helper()
	b.ReportAllocs()
	ctx := b.Context()
	for b.Loop() {
		d, err := m.Spend(ctx, c)
		if err != nil || d.Verdict != want && d.Verdict != ratelimit.Banned {
			b.Fatalf("Spend = %+v, %v", d, err)
		}
	}
}

// BenchmarkSpendMillionAccounts reports what a million accounts take in memory.
func BenchmarkSpendMillionAccounts(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(heapOf(b, 1_000_000), "B/account")
	}
}

func BenchmarkFailureBucket(b *testing.B) {
	bucket := ratelimit.NewFailureBucket(ratelimit.NewClock(clock.NewSystem()), ratelimit.FailuresPerMinute)
	from := netip.MustParseAddr("2001:db8::1")
	b.ReportAllocs()
	for b.Loop() {
		bucket.Fail(from)
	}
}

// The promise of the package's documentation is five; it keeps none.
func TestSpendAllocatesNothing(t *testing.T) {
	m := newBench(t)
	c := ratelimit.Charge{Account: 1, Key: 1, Quota: unlimited}
	allocs := testing.AllocsPerRun(1_000, func() {
		if _, err := m.Spend(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 0 {
		t.Errorf("%v allocations for a decision, want none", allocs)
	}
}
