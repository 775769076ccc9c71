package httpapi

import (
	"context"
	"fmt"
	"testing"
	"time"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/ratelimit"
)

var noon = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

func TestLimitHeaders(t *testing.T) {
	now := noon.UnixNano() + 18e9 + 1
	d := ratelimit.Decision{
		Now:    now,
		Minute: ratelimit.WindowState{Limit: 60, Remaining: 59, Reset: noon.Unix() + 60},
		Day:    ratelimit.WindowState{Limit: 1_000, Remaining: 999, Reset: noon.Unix() + 43_200},
	}
	address := ratelimit.BucketDecision{Now: now, Minute: ratelimit.WindowState{Limit: 600, Remaining: 599, Reset: noon.Unix() + 60}}
	for _, c := range []struct{ what, got, want string }{
		{"RateLimit", string(AppendRateLimit([]byte("x: "), d)), `x: "minute";r=59;t=42, "day";r=999;t=43182`},
		{"RateLimit-Policy", quotaPolicy(petcat.Quota{PerMinute: 60, PerDay: 1_000}), `"minute";q=60;w=60, "day";q=1000;w=86400`},
		{"RateLimit of an address", string(appendRateLimitItem(nil, addressWindow, address.Minute, address.Now)), `"address";r=599;t=42`},
		{"RateLimit-Policy of an address", newBucketPolicy(addressWindow, ratelimit.FailuresPerMinute).policy[0], `"address";q=600;w=60`},
	} {
		if c.got != c.want {
			t.Errorf("%s is %s, want %s", c.what, c.got, c.want)
		}
	}
}

// FuzzRateLimit: whatever the numbers, the value reads back as two items with
// them, and never tells a caller to come back at once.
func FuzzRateLimit(f *testing.F) {
	f.Add(int64(59), int64(999), noon.UnixNano(), noon.Unix()+60, noon.Unix()+43_200)
	f.Add(int64(0), int64(petcat.MaxQuota), noon.UnixNano()+999_999_999, noon.Unix(), noon.Unix()+1)
	f.Fuzz(func(t *testing.T, minute, day, now, minuteReset, dayReset int64) {
		text := AppendRateLimit(nil, ratelimit.Decision{
			Now:    now,
			Minute: ratelimit.WindowState{Remaining: minute, Reset: minuteReset % (1 << 40)},
			Day:    ratelimit.WindowState{Remaining: day, Reset: dayReset % (1 << 40)},
		})
		var r [2]int64
		var wait [2]int64
		if _, err := fmt.Sscanf(string(text), `"minute";r=%d;t=%d, "day";r=%d;t=%d`, &r[0], &wait[0], &r[1], &wait[1]); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if r != [2]int64{minute, day} || wait[0] < 1 || wait[1] < 1 {
			t.Errorf("%q from %d and %d", text, minute, day)
		}
	})
}

// leaseAll is a store that grants everything and remembers nothing.
type leaseAll struct{ petcat.DayStore }

func (leaseAll) LeaseDays(_ context.Context, _ petcat.DayCall, leases []petcat.DayLease) ([]petcat.DayLeased, error) {
	granted := make([]petcat.DayLeased, len(leases))
	for i, l := range leases {
		granted[i] = petcat.DayLeased{Granted: l.Want, Count: l.Want}
	}
	return granted, nil
}

func (leaseAll) ReturnDays(context.Context, petcat.DayCall, []petcat.DayReturn) error { return nil }

// decide returns a function that takes a decision and writes its header.
func decide(tb testing.TB) func() {
	tb.Helper()
	m := ratelimit.NewMemory(ratelimit.Options{Clock: ratelimit.NewClock(clock.NewSystem()), Days: leaseAll{}})
	tb.Cleanup(func() { _ = m.Close(context.WithoutCancel(tb.Context())) })
	charge := ratelimit.Charge{Account: 1, Key: 1, Quota: petcat.Quota{PerMinute: petcat.MaxQuota, PerDay: petcat.MaxQuota}}
	header := make([]byte, 0, 128)
	ctx := tb.Context()
	return func() {
		d, err := m.Spend(ctx, charge)
		if err != nil || d.Verdict != ratelimit.Admitted {
			tb.Fatalf("Spend = %+v, %v", d, err)
		}
		header = AppendRateLimit(header[:0], d)
	}
}

// BenchmarkDecisionWithHeader measures a decision with its header.
func BenchmarkDecisionWithHeader(b *testing.B) {
	b.ReportAllocs()
	for once := decide(b); b.Loop(); {
		once()
	}
}

func TestDecisionAllocatesNothing(t *testing.T) {
	if allocs := testing.AllocsPerRun(1_000, decide(t)); allocs > 0 {
		t.Errorf("%v allocations for a decision and its header, want none", allocs)
	}
}
