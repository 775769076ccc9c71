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

	petcat "github.com/petcat-api/petcat/client"
)

// createAll creates n categories, each in its own goroutine.
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

// wantEachOnce checks that n categories were created, with distinct names.
func wantEachOnce(t *testing.T, s *service, n int) {
	t.Helper()
	names := s.names()
	created := len(names)
	slices.Sort(names)
	if distinct := len(slices.Compact(names)); created != n || distinct != n {
		t.Errorf("%d categories with %d names were created, want %d of each", created, distinct, n)
	}
}

// TestGateAlone: the only client of an account does not get 429, and takes no longer than the quotas
// require.
func TestGateAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 500
		s := newService(60, 1000)
		s.latency = 20 * time.Millisecond
		begun := time.Now() // at midnight: a minute begins
		must(t, createAll(t.Context(), dial(t, s), "cat", n))
		wantEachOnce(t, s, n)
		requests := s.log()
		if got := rejected(requests); got != 0 || len(requests) != n {
			t.Errorf("%d requests, %d with 429; want %d and 0", len(requests), got, n)
		}
		if took := time.Since(begun); took < 8*time.Minute || took > 8*time.Minute+3*time.Second {
			t.Errorf("it took %s, want 8 minutes and up to 3 s", took)
		}
		for i, r := range requests {
			if before := r.at.Sub(requests[i-i%60].at); i%60 > 0 && before < s.latency {
				t.Errorf("request %d of a minute came %s after the first one, before its response", i%60, before)
			}
		}
	})
}

// TestGateDelaysAllCalls: a 429 delays all calls until Retry-After; then one goes first, and
// the others are spread over the minute.
func TestGateDelaysAllCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(60, 1000)
		s.latency = 20 * time.Millisecond
		c := dial(t, s)
		time.Sleep(10 * time.Second)
		must(t, createAll(t.Context(), c, "first", 1))
		s.use(60) // other clients use the rest
		must(t, createAll(t.Context(), c, "second", 50))
		wantEachOnce(t, s, 51)
		// The client expected 59 more requests, so it sent all 50 at once.
		requests := s.log()
		if got := rejected(requests); got != 50 {
			t.Fatalf("%d requests got 429, want 50", got)
		}
		opens := requests[1].at.Add(50 * time.Second)
		for i, r := range requests[51:] {
			if i == 0 && r.at.Before(opens) {
				t.Errorf("a request came %s before Retry-After had passed", opens.Sub(r.at))
			}
			// 60 in a minute, of which up to a second has passed.
			since := r.at.Sub(requests[51+max(i-1, 0)].at)
			if i == 1 && since < s.latency || i > 1 && since < 800*time.Millisecond {
				t.Errorf("request %d came %s after the previous one; they must be spread over the minute", i, since)
			}
		}
	})
}

// TestGateLongWaits: a call that would wait too long fails at once, without a request.
func TestGateLongWaits(t *testing.T) {
	minute, day := func(s *service) { s.use(60) }, func(s *service) { s.use(1000) }
	ban := func(s *service) { s.ban(time.Hour) }
	patient := []petcat.Option{petcat.WithMaxWait(25 * time.Hour)}
	for _, c := range []struct {
		name    string
		prepare func(s *service)
		options []petcat.Option
		timeout time.Duration // 0: none
		code    petcat.Code
		waits   bool
	}{
		{name: "exhausted minute", prepare: minute, waits: true},
		{
			name: "exhausted minute, deadline before its end", prepare: minute,
			timeout: 20 * time.Second, code: petcat.CodeRateLimitExceeded,
		},
		{name: "exhausted minute, deadline after its end", prepare: minute, timeout: 2 * time.Minute, waits: true},
		{name: "exhausted day", prepare: day, code: petcat.CodeDailyQuotaExceeded},
		{name: "exhausted day, long maximum wait", prepare: day, options: patient, waits: true},
		{name: "ban", prepare: ban, code: petcat.CodeKeyBanned},
		{name: "ban, long maximum wait", prepare: ban, options: patient, timeout: 3 * time.Hour, waits: true},
		{
			name: "ban, deadline before its end", prepare: ban, options: patient,
			timeout: 50 * time.Minute, code: petcat.CodeKeyBanned,
		},
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
					t.Errorf("the service's own error is %+v", e)
				}
				_, _, err = api.Categories.List(ctx)
				e = wantCode(t, err, c.code)
				if !e.NotSent || e.RetryAfter < 30*time.Second || e.Status != http.StatusTooManyRequests {
					t.Errorf("the error of the second call is %+v, want NotSent", e)
				}
				if time.Since(begun) > 0 {
					t.Errorf("it took %s", time.Since(begun))
				}
				if requests := s.log(); len(requests) != 1 {
					t.Errorf("%d requests were sent, want 1", len(requests))
				}
			})
		})
	}
}
