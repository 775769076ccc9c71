package ratelimit_test

import (
	"fmt"
	"testing"

	"petcat"
	"petcat/internal/ratelimit"
)

func TestHeaders(t *testing.T) {
	now := noon.UnixNano() + 18e9 + 1
	d := ratelimit.Decision{
		Now:    now,
		Minute: ratelimit.Standing{Limit: 60, Remaining: 59, Reset: noon.Unix() + 60},
		Day:    ratelimit.Standing{Limit: 1_000, Remaining: 999, Reset: noon.Unix() + 43_200},
	}
	want(t, "RateLimit", string(ratelimit.AppendRateLimit([]byte("x: "), d)), `x: "minute";r=59;t=42, "day";r=999;t=43182`)
	want(t, "RateLimit-Policy", ratelimit.Policy(petcat.Quota{PerMinute: 60, PerDay: 1_000}), `"minute";q=60;w=60, "day";q=1000;w=86400`)

	b, _ := newBucket(0)
	want(t, "RateLimit-Policy of an address", b.AddressPolicy(), `"address";q=600;w=60`)
	a := ratelimit.AddressDecision{Now: now, Standing: ratelimit.Standing{Limit: 600, Remaining: 599, Reset: noon.Unix() + 60}}
	want(t, "RateLimit of an address", string(ratelimit.AppendAddressRateLimit(nil, a)), `"address";r=599;t=42`)
}

// FuzzRateLimit: whatever the numbers, the value reads back as two items with
// them, and never tells a caller to come back at once.
func FuzzRateLimit(f *testing.F) {
	f.Add(int64(59), int64(999), noon.UnixNano(), noon.Unix()+60, noon.Unix()+43_200)
	f.Add(int64(0), int64(petcat.MaxQuota), noon.UnixNano()+999_999_999, noon.Unix(), noon.Unix()+1)
	f.Fuzz(func(t *testing.T, minute, day, now, minuteReset, dayReset int64) {
		text := ratelimit.AppendRateLimit(nil, ratelimit.Decision{
			Now:    now,
			Minute: ratelimit.Standing{Remaining: minute, Reset: minuteReset % (1 << 40)},
			Day:    ratelimit.Standing{Remaining: day, Reset: dayReset % (1 << 40)},
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
