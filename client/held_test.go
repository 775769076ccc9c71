package client_test

import (
	"testing"
	"testing/synctest"
	"time"

	"petcat/client"
)

// TestHeld: who waits can be told until when, and why.
func TestHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, client.WithTransport(newService(2, 1000)))
		if until, why := c.Held(); why != nil || !until.IsZero() {
			t.Errorf("before the first call it waits until %s for %v", until, why)
		}
		for range 2 {
			_, err := c.Categories.List(t.Context())
			must(t, err)
		}
		until, why := c.Held()
		if left := time.Until(until); why == nil || why.Code != client.CodeRateLimitExceeded || !why.NotSent || left <= 0 || left > 62*time.Second || why.RetryAfter < left {
			t.Errorf("it waits for %s, for %v", left, why)
		}
		time.Sleep(time.Until(until))
		if _, why := c.Held(); why != nil {
			t.Errorf("then it waits for %v", why)
		}
	})
}
