//go:build go1.26

package petcat_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"petcat/client"
)

// createAll creates that many categories from that many goroutines at once.
func createAll(ctx context.Context, c *petcat.Client, prefix string, n int) error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			_, _, errs[i] = c.Categories.Create(ctx, petcat.NewCategory{Name: fmt.Sprintf("%s %d", prefix, i)})
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// wantEachOnce checks that names were created, each once.
func wantEachOnce(t *testing.T, s *service, n int) {
	t.Helper()
	names := s.names()
	created := len(names)
	slices.Sort(names)
	if distinct := len(slices.Compact(names)); created != n || distinct != n {
		t.Errorf("%d categories with %d names were created, want %d of each", created, distinct, n)
	}
}

// TestGateAlone: a client that is alone on its account never gets a 429, however many
// goroutines use it, and takes no longer than the quotas make it.
func TestGateAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 500
		s := newService(60, 1000)
		s.latency = 20 * time.Millisecond
		begun := time.Now() // at midnight: a minute begins
		must(t, createAll(t.Context(), dial(t, s), "cat", n))
		wantEachOnce(t, s, n)
		requests := s.log()
		if got := refused(requests); got != 0 || len(requests) != n {
			t.Errorf("%d requests, %d of them refused; want %d and none", len(requests), got, n)
		}
		if took := time.Since(begun); took < 8*time.Minute || took > 8*time.Minute+3*time.Second {
			t.Errorf("it took %s, want little more than the 8 minutes that have to end", took)
		}
		for i, r := range requests {
			if before := r.at.Sub(requests[i-i%60].at); i%60 > 0 && before < s.latency {
				t.Errorf("request %d of a minute came %s after the one that goes first, before its answer", i%60, before)
			}
		}
	})
}

// TestGateHoldsAllBack: a 429 of one call holds all calls back until Retry-After, and
// then one goes first.
func TestGateHoldsAllBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(60, 1000)
		s.latency = 20 * time.Millisecond
		c := dial(t, s)
		time.Sleep(10 * time.Second)
		must(t, createAll(t.Context(), c, "first", 1))
		s.use(60) // others use the rest
		must(t, createAll(t.Context(), c, "second", 50))
		wantEachOnce(t, s, 51)
		// The client knew of 59 more: all that went at once were refused at once.
		requests := s.log()
		if got := refused(requests); got != 50 {
			t.Fatalf("%d requests were refused, want 50", got)
		}
		opens := requests[1].at.Add(50 * time.Second)
		for i, r := range requests[51:] {
			if i == 0 && r.at.Before(opens) {
				t.Errorf("a request came %s before Retry-After had passed", opens.Sub(r.at))
			}
			// 60 in a minute, of which up to a second has passed.
			if since := r.at.Sub(requests[51+max(i-1, 0)].at); i == 1 && since < s.latency || i > 1 && since < 800*time.Millisecond {
				t.Errorf("request %d came %s after the one before it: they are to be spread over the minute", i, since)
			}
		}
	})
}

// TestGateLongWaits: what would take longer than the caller has is told at once, and
// nothing is sent.
func TestGateLongWaits(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare func(s *service)
		options []petcat.Option
		timeout time.Duration // 0: none
		code    petcat.Code
		waits   bool
	}{
		{name: "spent minute", prepare: func(s *service) { s.use(60) }, waits: true},
		{name: "spent minute, deadline before its end", prepare: func(s *service) { s.use(60) }, timeout: 20 * time.Second, code: petcat.CodeRateLimitExceeded},
		{name: "spent minute, deadline after its end", prepare: func(s *service) { s.use(60) }, timeout: 2 * time.Minute, waits: true},
		{name: "spent day", prepare: func(s *service) { s.use(1000) }, code: petcat.CodeDailyQuotaExceeded},
		{name: "spent day, and patience", prepare: func(s *service) { s.use(1000) }, options: []petcat.Option{petcat.WithMaxWait(25 * time.Hour)}, waits: true},
		{name: "ban", prepare: func(s *service) { s.ban(time.Hour) }, code: petcat.CodeKeyBanned},
		{name: "ban, and patience", prepare: func(s *service) { s.ban(time.Hour) }, options: []petcat.Option{petcat.WithMaxWait(2 * time.Hour)}, timeout: 3 * time.Hour, waits: true},
		{name: "ban, deadline before its end", prepare: func(s *service) { s.ban(time.Hour) }, options: []petcat.Option{petcat.WithMaxWait(2 * time.Hour)}, timeout: 50 * time.Minute, code: petcat.CodeKeyBanned},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newService(60, 1000)
				api := dial(t, s, c.options...)
				time.Sleep(time.Second)
				c.prepare(s)
				ctx := t.Context()
				if c.timeout > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.timeout)
					defer cancel()
				}
				begun := time.Now()
				_, _, err := api.Categories.List(ctx)
				if c.waits {
					must(t, err)
					if time.Since(begun) < 59*time.Second {
						t.Errorf("it took %s", time.Since(begun))
					}
					return
				}
				e := wantCode(t, err, c.code)
				if e.NotSent || e.RequestID == "" || e.RetryAfter < 30*time.Second {
					t.Errorf("the service's own answer is told as %+v", e)
				}
				_, _, err = api.Categories.List(ctx)
				if e := wantCode(t, err, c.code); !e.NotSent || e.RetryAfter < 30*time.Second || e.Status != http.StatusTooManyRequests {
					t.Errorf("the second call is told %+v, want that it was not sent", e)
				}
				if time.Since(begun) > 0 {
					t.Errorf("it took %s to say so", time.Since(begun))
				}
				if requests := s.log(); len(requests) != 1 {
					t.Errorf("%d requests were sent, want 1", len(requests))
				}
			})
		})
	}
}
