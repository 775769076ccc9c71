package ratelimit_test

import (
	stdcmp "cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/clocktest"
	"github.com/petcat-api/petcat/internal/ratelimit"
)

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// noUsage is an empty usage history.
func noUsage(context.Context, petcat.AccountID, int64) (int64, error) { return 0, nil }

// counters count like the function charge_quota, by the test's clock.
type counters struct {
	clock clock.Clock

	mu    sync.Mutex
	used  map[petcat.AccountID]petcat.QuotaCount // guarded by mu
	calls int                                    // guarded by mu
}

func (c *counters) Charge(_ context.Context, charges []petcat.QuotaCharge) (counts []petcat.QuotaCount, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	byAccount := func(a, b petcat.QuotaCharge) int { return stdcmp.Compare(a.Account, b.Account) }
	if !slices.IsSortedFunc(charges, byAccount) {
		return nil, errors.New("the accounts are not in order")
	}
	now := c.clock.Read().Wall
	for _, q := range charges {
		u := c.used[q.Account]
		charge(&u, q, now, 0)
		c.used[q.Account] = u
		counts = append(counts, u)
	}
	return counts, nil
}

// charge is the rule: a request counts in both windows or in neither.
func charge(u *petcat.QuotaCount, q petcat.QuotaCharge, now, dayUsed int64) {
	was, is := time.Unix(0, u.Now).UTC(), time.Unix(0, now).UTC()
	if !was.Truncate(time.Minute).Equal(is.Truncate(time.Minute)) {
		u.MinuteUsed = 0
		if !was.Truncate(24 * time.Hour).Equal(is.Truncate(24 * time.Hour)) {
			u.DayUsed = 0
		}
		u.DayUsed = max(u.DayUsed, dayUsed)
	}
	u.Now, u.Newest = now, 7
	u.Allowed = !q.Peek && u.MinuteUsed < q.Quota.PerMinute && u.DayUsed < q.Quota.PerDay
	if u.Allowed {
		u.MinuteUsed++
		u.DayUsed++
	}
}

// service is a limiter and its dependencies.
type service struct {
	*ratelimit.Limiter

	t       *testing.T
	clock   *clocktest.Manual
	history map[petcat.AccountID]int64 // of the day before the start
	shared  *counters                  // nil for a single node
	bans    []petcat.Ban
}

// eachLimiter runs a test with a limiter of a single node and with one that has counters.
func eachLimiter(t *testing.T, test func(t *testing.T, s *service), change ...func(*ratelimit.Options)) {
	t.Helper()
	for _, shared := range []bool{false, true} {
		name := "memory"
		if shared {
			name = "counters"
		}
		t.Run(name, func(t *testing.T) {
			s := &service{t: t, clock: clocktest.NewManual(noon), history: make(map[petcat.AccountID]int64)}
			o := ratelimit.Options{
				Clock: s.clock, BanMode: petcat.EnforceBans, Banned: func(b petcat.Ban) { s.bans = append(s.bans, b) },
				SaveBan: func(context.Context, petcat.Ban) error { return nil },
			}
			o.DayUsed = func(_ context.Context, id petcat.AccountID, day int64) (int64, error) {
				if day > petcat.Day.Index(noon.Unix()) {
					t.Errorf("the usage of day %d was read, although it began after the start", day)
				}
				return s.history[id], nil
			}
			if shared {
				o.Logger = slog.New(slog.DiscardHandler)
				s.shared = &counters{clock: s.clock, used: make(map[petcat.AccountID]petcat.QuotaCount)}
				o.Counters = s.shared
			}
			for _, c := range change {
				c(&o)
			}
			s.Limiter = ratelimit.New(o)
			t.Cleanup(s.Close)
			test(t, s)
		})
	}
}

func (s *service) spend(c ratelimit.Charge) ratelimit.Decision {
	s.t.Helper()
	d, err := s.Spend(s.t.Context(), c)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func wantEqual[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateErrors()); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

var free = petcat.Quota{PerMinute: 60, PerDay: 1_000}

func TestWindows(t *testing.T) {
	eachLimiter(t, func(t *testing.T, s *service) {
		c := ratelimit.Charge{Account: 1, Key: 1, Quota: free}
		s.clock.Advance(18*time.Second + time.Second/2)
		minute, midnight := noon.Unix()+60, noon.Unix()+12*3600
		for n := int64(1); n <= 60; n++ {
			d := s.spend(c)
			wantEqual(t, "the outcome", ratelimit.Allowed, d.Outcome)
			wantEqual(t, "the minute", ratelimit.WindowState{Limit: 60, Used: n, Reset: minute}, d.Minute)
			wantEqual(t, "the day", ratelimit.WindowState{Limit: 1_000, Used: n, Reset: midnight}, d.Day)
			wantEqual(t, "the effective window", d.Minute, d.Effective)
		}
		for range 3 {
			d := s.spend(c)
			wantEqual(t, "the outcome", ratelimit.MinuteSpent, d.Outcome)
			wantEqual(t, "the effective window", ratelimit.WindowState{Limit: 60, Used: 60, Reset: minute}, d.Effective)
			wantEqual(t, "the day after rejections", 940, d.Day.Remaining())
			wantEqual(t, "Retry-After", 42, d.RetryAfter)
		}
		other := ratelimit.Charge{Account: 2, Key: 2, Quota: free}
		wantEqual(t, "another account", 59, s.spend(other).Minute.Remaining())

		c.Quota.PerMinute = 300
		wantEqual(t, "a plan change keeps the usage", 239, s.spend(c).Minute.Remaining())
		c.Quota.PerMinute = 60
		d := s.spend(c)
		wantEqual(t, "the smaller plan again", ratelimit.MinuteSpent, d.Outcome)
		wantEqual(t, "used with the smaller plan", 61, d.Minute.Used)

		s.clock.Advance(42 * time.Second)
		wantEqual(t, "the next minute", 59, s.spend(c).Minute.Remaining())
		for {
			d := s.spend(c)
			if d.Outcome == ratelimit.MinuteSpent {
				s.clock.Advance(time.Duration(d.RetryAfter) * time.Second)
				continue
			}
			if d.Outcome == ratelimit.DaySpent {
				break
			}
			if d.Day.Remaining() < d.Minute.Remaining() {
				wantEqual(t, "the effective window", d.Day, d.Effective)
			}
		}
		d = s.spend(c)
		spent := ratelimit.WindowState{Limit: 1_000, Used: 1_000, Reset: midnight}
		wantEqual(t, "the effective window", spent, d.Effective)
		toMidnight := midnight - s.clock.Read().Time().Unix()
		if d.RetryAfter < toMidnight || d.RetryAfter > toMidnight+61 {
			t.Errorf("Retry-After is %d, with %d s to midnight", d.RetryAfter, toMidnight)
		}
		s.clock.Advance(time.Duration(toMidnight) * time.Second)
		wantEqual(t, "the next day", 999, s.spend(c).Day.Remaining())
	})
}

func TestPeek(t *testing.T) {
	eachLimiter(t, func(t *testing.T, s *service) {
		c := ratelimit.Charge{Account: 1, Key: 1, Quota: petcat.Quota{PerMinute: 2, PerDay: 10}}
		for n := range int64(3) {
			for range 3 {
				d, err := s.Peek(t.Context(), c)
				wantEqual(t, "the error", nil, err)
				wantEqual(t, "remaining in the minute", 2-n, d.Minute.Remaining())
				wantEqual(t, "spent", n == 2, d.Outcome == ratelimit.MinuteSpent)
			}
			s.spend(c)
		}
		s.ApplyBan(petcat.Ban{
			Key:       1,
			Account:   1,
			Level:     1,
			StartedAt: noon,
			EndsAt:    noon.Add(time.Minute),
		})
		d, err := s.Peek(t.Context(), c)
		wantEqual(t, "the error", nil, err)
		wantEqual(t, "the ban's end", noon.Unix()+60, d.BanEnds)
	})
}

// Exactly the quota of parallel requests is allowed.
func TestParallel(t *testing.T) {
	eachLimiter(t, func(t *testing.T, s *service) {
		var admitted [3]atomic.Int64
		var wg sync.WaitGroup
		for i := range 600 {
			wg.Go(func() {
				d, err := s.Spend(t.Context(), ratelimit.Charge{
					Account: petcat.AccountID(i % 3),
					Key:     1,
					Quota:   petcat.Quota{PerMinute: 60, PerDay: 61 - int64(i%3)},
				})
				if err != nil {
					t.Error(err)
				} else if d.Outcome == ratelimit.Allowed {
					admitted[i%3].Add(1)
				}
			})
		}
		wg.Wait()
		for i, wanted := range []int64{60, 60, 59} {
			wantEqual(t, "admitted", wanted, admitted[i].Load())
		}
	})
}

// A single node reads the day's usage of a new account from the history, also for a banned key; with
// several nodes, the counters do, but not for a banned key.
func TestDayUsageBeforeStart(t *testing.T) {
	eachLimiter(t, func(t *testing.T, s *service) {
		s.history[1] = 998
		c := ratelimit.Charge{Account: 1, Key: 1, Quota: free}
		left := int64(1)
		if s.shared != nil {
			left = 999
		}
		wantEqual(t, "remaining on the day", left, s.spend(c).Day.Remaining())

		s.history[3] = 1_000
		s.ApplyBan(petcat.Ban{
			Key:       3,
			Account:   3,
			Level:     1,
			StartedAt: noon,
			EndsAt:    noon.Add(time.Minute),
		})
		limit := int64(1_000) // of the window that resets last: the used-up day
		if s.shared != nil {
			limit = 60 // of the ban
		}
		banned := ratelimit.Charge{Account: 3, Key: 3, Quota: free}
		wantEqual(t, "the limit for a banned key", limit, s.spend(banned).Effective.Limit)

		s.clock.Advance(24 * time.Hour)
		wantEqual(t, "remaining on the next day", 999, s.spend(c).Day.Remaining())
		other := ratelimit.Charge{Account: 2, Key: 2, Quota: free}
		wantEqual(t, "remaining on the next day, another account", 999, s.spend(other).Day.Remaining())
	})
}

func TestUnreadableHistory(t *testing.T) {
	var failure error
	used := func(context.Context, petcat.AccountID, int64) (int64, error) { return 5, failure }
	l := ratelimit.New(ratelimit.Options{Clock: clocktest.NewManual(noon), DayUsed: used})
	defer l.Close()
	c := ratelimit.Charge{Account: 1, Key: 1, Quota: free}
	failure = errors.New("down")
	_, err := l.Spend(t.Context(), c)
	wantEqual(t, "the code", petcat.CodeServiceUnavailable, petcat.CodeOf(err))
	failure = nil
	d, err := l.Spend(t.Context(), c)
	wantEqual(t, "the error", nil, err)
	wantEqual(t, "remaining on the day", 994, d.Day.Remaining())
	failure = errors.New("down")
	_, err = l.Spend(t.Context(), c) // now known
	wantEqual(t, "the error", nil, err)
}

// Sweep removes only accounts of past days and well-behaved keys.
func TestSweep(t *testing.T) {
	eachLimiter(t, func(t *testing.T, s *service) {
		c := ratelimit.Charge{Account: 1, Key: 1, Quota: free}
		s.spend(c)
		for range 30 * 6 {
			s.clock.Advance(10 * time.Minute)
			s.Sweep()
		}
		s.history[1] = 500 // not read again: the day began after the start
		wantEqual(t, "remaining on the day", 999, s.spend(c).Day.Remaining())
		s.clock.Advance(time.Hour)
		s.Sweep()
		wantEqual(t, "remaining on the day after a sweep", 998, s.spend(c).Day.Remaining())
	})
}

// After the clock is set, accounts are not rejected for longer than a window.
func TestClockIsSet(t *testing.T) {
	eachLimiter(t, func(t *testing.T, s *service) {
		c := ratelimit.Charge{Account: 1, Key: 1, Quota: petcat.Quota{PerMinute: 5, PerDay: 1_000}}
		const second, hour = time.Second, time.Hour
		for _, step := range []time.Duration{second, -second, hour, -hour, 48 * hour, -48 * hour} {
			for s.spend(c).Outcome == ratelimit.Allowed {
			}
			s.clock.Step(step)
			s.clock.Advance(time.Minute + time.Second)
			wantEqual(t, "a minute after a step of "+step.String(), ratelimit.Allowed, s.spend(c).Outcome)
		}
	})
}

// Random requests get the decisions of one simple rule from both kinds of limiters.
func TestModel(t *testing.T) {
	eachLimiter(t, func(t *testing.T, s *service) {
		r := rand.New(rand.NewPCG(1, 2))
		model := make(map[petcat.AccountID]petcat.QuotaCount)
		for range 5_000 {
			s.clock.Advance(time.Duration(r.ExpFloat64() * float64(time.Second)))
			if r.IntN(500) == 0 {
				s.clock.Advance(time.Duration(r.IntN(20)) * time.Hour)
			}
			id := petcat.AccountID(r.IntN(4))
			q := petcat.Quota{PerMinute: 1 + r.Int64N(12), PerDay: 100 + r.Int64N(300)}
			u := model[id]
			now := s.clock.Read().Wall
			c := ratelimit.Charge{Account: id, Key: petcat.KeyID(id), Quota: q}
			peek, decide := false, s.Spend
			if r.IntN(10) == 0 {
				peek, decide = true, s.Peek
			}
			charge(&u, petcat.QuotaCharge{Quota: q, Peek: peek}, now, 0)
			d, err := decide(t.Context(), c)
			model[id] = u
			wantEqual(t, "the error", nil, err)
			u.Now, u.Newest = d.Now, d.Newest // unknown if decided from memory
			usage := ratelimit.Usage{QuotaCount: u, Quota: q}
			wantEqual(t, "the usage", usage, d.Usage)
			outcome := ratelimit.Allowed
			if !u.Allowed {
				outcome = usage.NextOutcome()
			}
			wantEqual(t, "the decision", usage.Decide(outcome, c.Key), d)
		}
	}, func(o *ratelimit.Options) { o.BanMode = petcat.BansOff })
}
