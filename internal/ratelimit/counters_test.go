package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/ratelimit"
)

// scripted are exact counters whose calls take time and fail as the test specifies, in virtual
// time.
type scripted struct {
	counters

	plan    behavior
	charged int       // number of charged requests; guarded by counters.mu
	at      time.Time // time of the last response; guarded by counters.mu
}

func newScripted() *scripted {
	return &scripted{
		counters: counters{clock: clock.NewSystem(), used: make(map[petcat.AccountID]petcat.QuotaCount)},
		plan:     well,
	}
}

func (s *scripted) Charge(ctx context.Context, charges []petcat.QuotaCharge) ([]petcat.QuotaCount, error) {
	s.mu.Lock()
	takes, err := s.plan()
	s.mu.Unlock()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(takes):
	}
	if err != nil {
		return nil, err
	}
	counts, err := s.counters.Charge(ctx, charges)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range counts {
		if c.Allowed {
			s.charged++
		}
	}
	s.at = time.Now()
	return counts, err
}

func (s *scripted) set(plan behavior) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plan = plan
}

// behavior returns the duration of a call to the counters, and its error.
type behavior = func() (time.Duration, error)

func well() (time.Duration, error) { return time.Millisecond, nil }

func hangs() (time.Duration, error) { return time.Hour, nil }

func fails() (time.Duration, error) { return 0, errors.New("connection refused") }

func failsLate() (time.Duration, error) {
	return 300 * time.Millisecond, errors.New("connection reset")
}

// inOrder are counters whose first calls behave as given, and whose later calls succeed.
func inOrder(first ...behavior) behavior {
	return func() (time.Duration, error) {
		if len(first) == 0 {
			return well()
		}
		next := first[0]
		first = first[1:]
		return next()
	}
}

// newShared starts a limiter that has counters.
func newShared(own clock.Clock, counters petcat.QuotaStore) *ratelimit.Limiter {
	return ratelimit.New(ratelimit.Options{
		Clock:    own,
		Counters: counters,
		Logger:   slog.New(slog.DiscardHandler),
		BanMode:  petcat.BansOff,
	})
}

// sharing runs a test with a limiter that has counters, in virtual time.
func sharing(t *testing.T, test func(t *testing.T, s *service, c *scripted)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := newScripted()
		s := &service{t: t, Limiter: newShared(c.clock, c)}
		test(t, s, c)
		s.Close()
	})
}

var plenty = petcat.Quota{PerMinute: 1_000_000, PerDay: 1_000_000_000}

// ask sends a request. It returns "counters", "memory" or the code of the error, and the duration.
func (s *service) ask(id petcat.AccountID) (who string, took time.Duration) {
	began := time.Now()
	d, err := s.Spend(context.Background(), ratelimit.Charge{Account: id, Key: 1, Quota: plenty})
	switch took = time.Since(began); {
	case err != nil:
		return string(petcat.CodeOf(err)), took
	case d.Newest == 0:
		return "memory", took
	default:
		return "counters", took
	}
}

const unavailable = string(petcat.CodeServiceUnavailable)

// While the counters hang or fail, requests wait for a second; then the node decides from memory,
// until a probe finds that the counters respond again.
func TestSilence(t *testing.T) {
	for name, plan := range map[string]behavior{"hangs": hangs, "fails": fails, "fails late": failsLate} {
		t.Run(name, func(t *testing.T) {
			sharing(t, func(t *testing.T, s *service, c *scripted) {
				for range 10 {
					who, _ := s.ask(1)
					wantEqual(t, "decided by", "counters", who)
				}
				c.set(plan)
				var all sync.WaitGroup
				for i := range 500 {
					all.Go(func() {
						time.Sleep(time.Duration(i) * 10 * time.Millisecond)
						who, took := s.ask(1)
						waits := i < 100
						if who != "memory" || took > time.Second+10*time.Millisecond || waits && took == 0 {
							t.Errorf("request %d was decided by %s after %s", i, who, took)
						}
					})
				}
				time.Sleep(3 * time.Second)
				wantEqual(t, "the state", ratelimit.ErrSilent, s.Err())
				all.Wait()
				wantEqual(t, "decided in memory", 500, s.Local.Load())
				c.set(well)
				time.Sleep(2 * time.Second)
				wantEqual(t, "the state, without a request", nil, s.Err())
				who, took := s.ask(1)
				wantEqual(t, "decided by", "counters", who)
				wantEqual(t, "duration", time.Millisecond, took)
			})
		})
	}
}

// A request that was decided from memory is not charged later, when a call could take it.
func TestMemoryDecidesOnce(t *testing.T) {
	sharing(t, func(t *testing.T, s *service, c *scripted) {
		c.set(inOrder(hangs, hangs)) // the following requests are queued
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 50 * time.Millisecond)
				if who, _ := s.ask(1); who != "memory" {
					t.Errorf("request %d was decided by %s", i, who)
				}
			})
		}
		all.Wait()
		time.Sleep(2 * time.Second)
		wantEqual(t, "the state", nil, s.Err())
		wantEqual(t, "charged", 0, c.charged)
	})
}

// One log line says that memory decides, another that the counters decide again. A failed call is not
// logged.
func TestSilenceIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newScripted()
		var log strings.Builder
		wantLines := func(what string, lines ...string) {
			t.Helper()
			synctest.Wait()
			var got []string
			for line := range strings.Lines(log.String()) {
				got = append(got, strings.TrimSpace(line))
			}
			log.Reset()
			wantEqual(t, what, lines, got)
		}
		withoutTime := func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}
		s := &service{t: t, Limiter: ratelimit.New(ratelimit.Options{
			Clock:    c.clock,
			Counters: c,
			Logger:   slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: withoutTime})),
			BanMode:  petcat.BansOff,
		})}
		wantLines("the start", `level=INFO msg="counting requests in the database"`)
		c.set(inOrder(fails))
		s.ask(1)
		s.ask(1)
		wantLines("a failed call")
		c.set(fails)
		s.ask(1)
		time.Sleep(time.Minute)
		wantLines("silence", `level=ERROR msg="the database is not responding; `+
			`counting requests in memory for up to 30 seconds" error="connection refused"`)
		c.set(well)
		time.Sleep(2 * time.Second)
		wantLines("a response", `level=INFO msg="counting requests in the database"`)
		s.Close()
	})
}

// Decisions from memory continue from the counters' last response.
func TestMemoryContinuesFromLastResponse(t *testing.T) {
	sharing(t, func(t *testing.T, s *service, c *scripted) {
		charge := ratelimit.Charge{Account: 1, Key: 1, Quota: petcat.Quota{PerMinute: 60, PerDay: 100}}
		for range 40 {
			s.spend(charge)
		}
		c.set(hangs)
		for left := int64(19); left >= 0; left-- {
			wantEqual(t, "remaining in the minute", left, s.spend(charge).Minute.Remaining())
		}
		wantEqual(t, "the outcome", ratelimit.MinuteSpent, s.spend(charge).Outcome)
		time.Sleep(time.Minute) // memory is no longer trusted
		c.set(well)
		time.Sleep(2 * time.Second)                                               // for a probe
		wantEqual(t, "remaining on the day", 59, s.spend(charge).Day.Remaining()) // the counters do not include the 20
	})
}

// After 30 s, requests get 503 until the counters respond again.
func TestMemoryExpires(t *testing.T) {
	sharing(t, func(t *testing.T, s *service, c *scripted) {
		c.set(fails)
		began := time.Now()
		for time.Since(began) < 29*time.Second {
			who, _ := s.ask(1)
			wantEqual(t, "decided by", "memory", who)
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(3 * time.Second)
		who, _ := s.ask(1)
		wantEqual(t, "the result after 30 s", unavailable, who)
		wantEqual(t, "the state", ratelimit.ErrDown, s.Err())
		c.set(well)
		time.Sleep(2 * time.Second) // for a probe
		wantEqual(t, "the state", nil, s.Err())
		who, _ = s.ask(1)
		wantEqual(t, "decided by", "counters", who)
	})
}

// The second and the 30 s begin when the first failing call is sent, even if the node was idle for an
// hour before.
func TestSilenceAfterAnIdleHour(t *testing.T) {
	for name, plan := range map[string]behavior{"hangs": hangs, "fails": fails, "fails late": failsLate} {
		t.Run(name, func(t *testing.T) {
			sharing(t, func(t *testing.T, s *service, c *scripted) {
				s.ask(1)
				time.Sleep(time.Hour)
				c.set(plan)
				who, took := s.ask(1)
				wantEqual(t, "decided by", "memory", who)
				wantEqual(t, "duration", time.Second, took)
			})
		})
	}
}

// One failed call is not enough, so a probe follows at once, on a new connection. When it succeeds, the
// waiting request, which may have been charged, gets 503. It is not decided from memory.
func TestBrokenConnections(t *testing.T) {
	for _, c := range []struct {
		name  string
		calls []behavior
		took  time.Duration
	}{
		{"one is closed", []behavior{fails}, time.Millisecond},
		{"two are closed", []behavior{fails, fails}, 11 * time.Millisecond},
		{"one is closed, one hangs", []behavior{fails, hangs}, 11 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			sharing(t, func(t *testing.T, s *service, counters *scripted) {
				s.ask(1)
				time.Sleep(time.Hour)
				counters.set(inOrder(c.calls...))
				who, took := s.ask(1)
				wantEqual(t, "decided by", unavailable, who)
				wantEqual(t, "duration", c.took, took)
				wantEqual(t, "counted as failed", 1, s.Failed.Load())
				wantEqual(t, "counted as overloaded", 0, s.Overloaded.Load())
				who, took = s.ask(1)
				wantEqual(t, "the next is decided by", "counters", who)
				wantEqual(t, "its duration", time.Millisecond, took)
				time.Sleep(2 * time.Second)
				wantEqual(t, "decided in memory", 0, s.Local.Load())
			})
		})
	}
}

// A call that hangs does not delay other requests, even if another one fails.
func TestOtherCallHangs(t *testing.T) {
	sharing(t, func(t *testing.T, s *service, c *scripted) {
		c.set(inOrder(hangs, fails))
		var all sync.WaitGroup
		for i, wanted := range []struct {
			who  string
			took time.Duration
		}{
			{unavailable, time.Second + time.Millisecond}, // until a probe succeeds
			{unavailable, time.Millisecond},
			{"counters", time.Millisecond},
		} {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 10 * time.Millisecond)
				if who, took := s.ask(1); who != wanted.who || took != wanted.took {
					t.Errorf("request %d was decided by %s after %s, want %+v", i, who, took, wanted)
				}
			})
		}
		all.Wait()
	})
}

// At the start of an outage, one call succeeds after another was sent. The other call's request waits for
// a second from this response, and is then also decided from memory.
func TestLastResponseBeforeSilence(t *testing.T) {
	sharing(t, func(t *testing.T, s *service, c *scripted) {
		takes := func() (time.Duration, error) { return 20 * time.Millisecond, nil }
		c.set(inOrder(takes, hangs, hangs, hangs, hangs, hangs, hangs))
		var all sync.WaitGroup
		all.Go(func() {
			who, _ := s.ask(1)
			wantEqual(t, "the first is decided by", "counters", who)
		})
		all.Go(func() {
			time.Sleep(10 * time.Millisecond)
			who, took := s.ask(2)
			wantEqual(t, "the second is decided by", "memory", who)
			wantEqual(t, "its duration", 1010*time.Millisecond, took)
		})
		all.Wait()
	})
}

// The counters reject calls for less than a second, as PostgreSQL does while it restarts. The request
// of the first call gets 503. All others wait and are counted, and few probes reach the counters.
func TestShortOutage(t *testing.T) {
	sharing(t, func(t *testing.T, s *service, c *scripted) {
		ends := time.Now().Add(600 * time.Millisecond)
		rejected := 0
		c.set(func() (time.Duration, error) {
			if time.Now().Before(ends) {
				rejected++
				return fails()
			}
			return well()
		})
		var mu sync.Mutex
		decided := make(map[string]int)
		var all sync.WaitGroup
		for i := range 1_000 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				who, took := s.ask(petcat.AccountID(i))
				mu.Lock()
				defer mu.Unlock()
				decided[who]++
				if took > time.Second {
					t.Errorf("a request took %s", took)
				}
			})
		}
		all.Wait()
		wantEqual(t, "decided by", map[string]int{"counters": 999, unavailable: 1}, decided)
		wantEqual(t, "rejected calls", 7, rejected)
	})
}

// A request that waits while the limiter is closed is decided in time.
func TestCloseInDoubt(t *testing.T) {
	sharing(t, func(t *testing.T, _ *service, c *scripted) {
		c.set(fails)
		s := &service{t: t, Limiter: newShared(c.clock, c)}
		var all sync.WaitGroup
		all.Go(func() {
			if who, took := s.ask(1); who != "memory" || took != time.Second {
				t.Errorf("decided by %s after %s", who, took)
			}
		})
		synctest.Wait()
		s.Close()
		all.Wait()
	})
}

// If one call fails while others succeed, its requests get 503 and are not decided from memory.
func TestOneCallFails(t *testing.T) {
	sharing(t, func(t *testing.T, s *service, c *scripted) {
		n := 0
		c.set(func() (time.Duration, error) {
			if n++; n%10 == 0 {
				return time.Millisecond, errors.New("out of shared memory")
			}
			return time.Millisecond, nil
		})
		decided := make(map[string]int)
		var mu sync.Mutex
		var all sync.WaitGroup
		for i := range 4_000 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 500 * time.Microsecond)
				who, took := s.ask(petcat.AccountID(i % 32))
				mu.Lock()
				defer mu.Unlock()
				decided[who]++
				if took > 30*time.Millisecond {
					t.Errorf("a request took %s", took)
				}
			})
		}
		all.Wait()
		if decided["memory"] > 0 || decided[unavailable] == 0 || decided["counters"] < 3_000 {
			t.Errorf("decided by %v", decided)
		}
	})
}

// While another call locks an account, its requests are resubmitted for a second, and then get 503. They
// are not decided from memory.
func TestLockedAccount(t *testing.T) {
	sharing(t, func(t *testing.T, s *service, c *scripted) {
		held := 3
		c.set(func() (time.Duration, error) {
			if held--; held >= 0 {
				return 200 * time.Millisecond, petcat.ErrAccountHeld
			}
			return time.Millisecond, nil
		})
		if who, took := s.ask(1); who != "counters" || took != 601*time.Millisecond {
			t.Errorf("locked for three calls: decided by %s after %s", who, took)
		}
		held = 100
		began := time.Now()
		_, err := s.Spend(t.Context(), ratelimit.Charge{Account: 1, Key: 1, Quota: plenty})
		wantEqual(t, "locked for longer", 1200*time.Millisecond, time.Since(began))
		named := err != nil && strings.Contains(err.Error(), petcat.ErrAccountHeld.Error())
		if !named || petcat.CodeOf(err) != petcat.CodeServiceUnavailable {
			t.Errorf("locked for longer: got %v, want the cause", err)
		}
		wantEqual(t, "counted as failed", 1, s.Failed.Load())
		wantEqual(t, "counted as overloaded", 0, s.Overloaded.Load())
	})
}

// With more requests than the counters can decide, the counters work at their full rate. Requests wait
// for a second at most; the rest get 503 without a charge. Memory does not decide any.
func TestOverload(t *testing.T) {
	for _, c := range []struct {
		rate int // per second
		call time.Duration
	}{
		{8_000, 40 * time.Millisecond},
		{3_000, 100 * time.Millisecond},
		{2_000, 400 * time.Millisecond},
		{3_000, 20 * time.Millisecond},
	} {
		t.Run(fmt.Sprintf("%d requests a second, calls of %s", c.rate, c.call), func(t *testing.T) {
			sharing(t, func(t *testing.T, s *service, counters *scripted) {
				counters.set(func() (time.Duration, error) { return c.call, nil })
				var mu sync.Mutex
				decided := make(map[string]int)
				var all sync.WaitGroup
				const seconds = 3
				for i := range seconds * c.rate {
					all.Go(func() {
						time.Sleep(time.Duration(i) * time.Second / time.Duration(c.rate))
						who, took := s.ask(petcat.AccountID(i % 1_000))
						mu.Lock()
						defer mu.Unlock()
						decided[who]++
						if took > time.Second+2*c.call {
							t.Errorf("a request took %s", took)
						}
					})
				}
				all.Wait()
				capacity := int(seconds * 2 * 64 / c.call.Seconds())
				n := decided["counters"]
				if n < min(seconds*c.rate, capacity)*8/10 || n != counters.charged || decided["memory"] > 0 {
					t.Errorf("decided by %v with capacity %d; %d were charged", decided, capacity, counters.charged)
				}
				wantEqual(t, "counted as overloaded", uint64(decided[unavailable]), s.Overloaded.Load())
			})
		})
	}
}
