package ratelimit_test

import (
	"testing"
	"time"

	"github.com/petcat-api/petcat/internal/clocktest"
	"github.com/petcat-api/petcat/internal/ratelimit"
)

func TestBucket(t *testing.T) {
	c := clocktest.NewManual(noon)
	b := ratelimit.NewBucket[string](c, 600, ratelimit.MaxAddresses)
	c.Advance(18*time.Second + time.Second/2)
	now, reset := c.Read().Wall, noon.Unix()+60
	used := func(n int64) ratelimit.WindowState { return ratelimit.WindowState{Limit: 600, Used: n, Reset: reset} }
	wantEqual(t, "before the first event", ratelimit.BucketDecision{Now: now, Minute: used(0)}, b.Peek("a"))
	for n := int64(1); n <= 600; n++ {
		wantEqual(t, "within the limit", ratelimit.BucketDecision{Now: now, Minute: used(n)}, b.Take("a"))
	}
	for range 3 {
		wantEqual(t, "past the limit", ratelimit.BucketDecision{
			Rejected:   true,
			Now:        now,
			Minute:     used(600),
			RetryAfter: 42,
		}, b.Take("a"))
	}
	wantEqual(t, "Peek past the limit", false, b.Peek("a").Rejected)
	wantEqual(t, "another", 599, b.Take("b").Minute.Remaining())
	c.Advance(42 * time.Second)
	wantEqual(t, "the next minute", 599, b.Take("a").Minute.Remaining())
}

// Beyond the number of keys in a minute, new keys share one count.
func TestBucketIsBounded(t *testing.T) {
	c := clocktest.NewManual(noon)
	b := ratelimit.NewBucket[int](c, 10, 1_000)
	for n := 1; n <= 1_000; n++ {
		wantEqual(t, "its own count", 9, b.Take(n).Minute.Remaining())
	}
	for n := range int64(10) {
		wantEqual(t, "the shared count", 9-n, b.Take(100_000+int(n)).Minute.Remaining())
	}
	wantEqual(t, "the shared count is spent", true, b.Take(200_000).Rejected)
	wantEqual(t, "a key with its own count", 8, b.Take(5).Minute.Remaining())
	c.Advance(time.Minute)
	wantEqual(t, "the next minute", 9, b.Take(200_000).Minute.Remaining())
}
