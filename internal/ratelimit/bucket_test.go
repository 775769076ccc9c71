package ratelimit_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"petcat/internal/clocktest"
	"petcat/internal/ratelimit"
)

func TestBucket(t *testing.T) {
	c := clocktest.NewManual(noon)
	b := ratelimit.NewBucket[string](c, 600, ratelimit.MaxAddresses)
	c.Advance(18*time.Second + time.Second/2)
	now, reset := c.Read().Wall, noon.Unix()+60
	used := func(n int64) ratelimit.WindowState { return ratelimit.WindowState{Limit: 600, Used: n, Reset: reset} }
	want(t, "before the first event", b.Peek("a"), ratelimit.BucketDecision{Now: now, Minute: used(0)})
	for n := int64(1); n <= 600; n++ {
		want(t, "within the limit", b.Take("a"), ratelimit.BucketDecision{Now: now, Minute: used(n)})
	}
	for range 3 {
		want(t, "past the limit", b.Take("a"), ratelimit.BucketDecision{
			Rejected:   true,
			Now:        now,
			Minute:     used(600),
			RetryAfter: 42,
		})
	}
	want(t, "Peek past the limit", b.Peek("a").Rejected, false)
	want(t, "another", b.Take("b").Minute.Remaining(), 599)
	c.Advance(42 * time.Second)
	want(t, "the next minute", b.Take("a").Minute.Remaining(), 599)
}

// Beyond the number of keys in a minute, new keys share one count.
func TestBucketIsBounded(t *testing.T) {
	c := clocktest.NewManual(noon)
	b := ratelimit.NewBucket[int](c, 10, 1_000)
	for n := 1; n <= 1_000; n++ {
		want(t, "its own count", b.Take(n).Minute.Remaining(), 9)
	}
	for n := range int64(10) {
		want(t, "the shared count", b.Take(100_000+int(n)).Minute.Remaining(), 9-n)
	}
	want(t, "the shared count is spent", b.Take(200_000).Rejected, true)
	want(t, "a key with its own count", b.Take(5).Minute.Remaining(), 8)
	c.Advance(time.Minute)
	want(t, "the next minute", b.Take(200_000).Minute.Remaining(), 9)
}

func TestBucketInParallel(t *testing.T) {
	b := ratelimit.NewBucket[string](clocktest.NewManual(noon), 100, ratelimit.MaxAddresses)
	var allowed atomic.Int64
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 50 {
				if !b.Take("a").Rejected {
					allowed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	want(t, "allowed", allowed.Load(), 100)
}
