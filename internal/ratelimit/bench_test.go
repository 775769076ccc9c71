package ratelimit_test

import (
	"runtime"
	"testing"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/ratelimit"
)

// BenchmarkSpend measures a decision of a single node.
func BenchmarkSpend(b *testing.B) {
	l := ratelimit.New(ratelimit.Options{Clock: clock.NewSystem(), DayUsed: nothingUsed, BanMode: petcat.EnforceBans})
	defer l.Close()
	unlimited := petcat.Quota{PerMinute: petcat.MaxQuota, PerDay: petcat.MaxQuota}
	charge := ratelimit.Charge{Account: 1, Key: 1, Quota: unlimited}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Spend(b.Context(), charge); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMillionAccounts measures the memory for each account that was active today.
func BenchmarkMillionAccounts(b *testing.B) {
	const accounts = 1_000_000
	for range b.N {
		o := ratelimit.Options{Clock: clock.NewSystem(), DayUsed: nothingUsed, BanMode: petcat.EnforceBans}
		l := ratelimit.New(o)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for id := range petcat.AccountID(accounts) {
			if _, err := l.Spend(b.Context(), ratelimit.Charge{Account: id, Key: 1, Quota: free}); err != nil {
				b.Fatal(err)
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/accounts, "B/account")
		l.Close()
	}
}
