package clusterlimit

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/counters"
	"petcat/internal/counterstest"
	"petcat/internal/limittest"
	"petcat/internal/ratelimit"
)

// work is counters that count what they are asked. Each charge is done at once, and
// answered after a while.
type work struct {
	*counterstest.Reference

	answersAfter time.Duration

	probes, calls, charges atomic.Int64
	told                   atomic.Int64 // requests that were charged or reported
}

func newWork(answersAfter time.Duration) *work {
	r := counterstest.NewReference(1, func() int64 { return time.Now().UnixNano() })
	return &work{Reference: r, answersAfter: answersAfter}
}

func (w *work) Probe(ctx context.Context, p int) (counters.Epoch, int64, error) {
	w.probes.Add(1)
	return w.Reference.Probe(ctx, p)
}

func (w *work) Charge(ctx context.Context, p int, e counters.Epoch, charges []counters.Charge) ([]counters.Facts, error) {
	w.calls.Add(1)
	w.charges.Add(int64(len(charges)))
	for _, c := range charges {
		w.told.Add(c.Requests + c.Reported)
	}
	facts, err := w.Reference.Charge(ctx, p, e, charges)
	select {
	case <-time.After(w.answersAfter):
		return facts, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// testNode is a node that has served for half a minute, and begins a minute.
func testNode(t *testing.T, c counters.Counters, bans petcat.BanMode) *Limiter {
	t.Helper()
	return testNodeWith(t, Options{Counters: c, Clock: clock.NewSystem(), Bans: bans})
}

// testNodeWith is testNode, with a store of days of its own if the options have none.
func testNodeWith(t *testing.T, o Options) *Limiter {
	t.Helper()
	if o.Days == nil {
		o.Days = limittest.NewDays().Process()
	}
	l := New(t.Context(), o)
	t.Cleanup(func() {
		_ = l.Close(context.WithoutCancel(t.Context()))
		time.Sleep(time.Minute) // calls that nobody waits for end
	})
	time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(2 * time.Minute)))
	return l
}

// TestLateAnswersMakeNoMoreWork: counters that answer too late are asked for no more than
// those that answer in time: each request is charged or reported once at most, in no more
// calls, and what probes come on top does not depend on how many requests there are.
func TestLateAnswersMakeNoMoreWork(t *testing.T) {
	t.Parallel()
	const seconds, late = 20, timeout + 10*time.Millisecond
	for _, perSecond := range []int64{100, 1_000} {
		load := func(answersAfter time.Duration) (w *work) {
			synctest.Test(t, func(t *testing.T) {
				w = newWork(answersAfter)
				l := testNode(t, w, petcat.BansOff)
				before := w.probes.Load()
				var all sync.WaitGroup
				for i := range perSecond * seconds {
					time.Sleep(time.Second / time.Duration(perSecond))
					all.Go(func() {
						id := i % 100
						c := ratelimit.Charge{Account: petcat.AccountID(id), Key: petcat.KeyID(id), Quota: petcat.Quota{PerMinute: 100_000, PerDay: 1_000_000}}
						if d, err := l.Spend(t.Context(), c); err != nil || d.Verdict != ratelimit.Admitted {
							t.Errorf("answers after %s: %+v, %v", answersAfter, d, err)
						}
					})
				}
				all.Wait()
				time.Sleep(5 * time.Second) // what is to be reported, is
				w.probes.Add(-before)
			})
			return w
		}
		in, out := load(time.Millisecond), load(late)
		if sent := perSecond * seconds; in.told.Load() < sent || out.told.Load() > sent {
			t.Errorf("of %d requests %d were charged by counters that answer in time, and %d charged or reported by others", sent, in.told.Load(), out.told.Load())
		}
		if out.calls.Load() > in.calls.Load() || out.charges.Load() > in.charges.Load() {
			t.Errorf("%d calls with %d charges of counters that answer too late, %d with %d of others",
				out.calls.Load(), out.charges.Load(), in.calls.Load(), in.charges.Load())
		}
		if most := int64((seconds + 6) * time.Second / probeAgain); out.probes.Load() > most {
			t.Errorf("%d probes at %d requests a second, want at most %d", out.probes.Load(), perSecond, most)
		}
	}
}

// TestRefusalsAskNothing: whose quota is spent, or whose key is banned, is refused from
// memory: the counters are asked again only when the answer may be another.
func TestRefusalsAskNothing(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		quota petcat.Quota
		bans  petcat.BanMode
		want  ratelimit.Verdict
		most  int64 // calls in the minute's first 59 s
	}{
		"the minute is spent": {petcat.Quota{PerMinute: 5, PerDay: 1_000}, petcat.BansOff, ratelimit.MinuteSpent, 0},
		"the day is spent":    {petcat.Quota{PerMinute: 60, PerDay: 5}, petcat.BansOff, ratelimit.DaySpent, int64(time.Minute / dayRecheck)},
		"the key is banned":   {petcat.Quota{PerMinute: 60, PerDay: 1_000}, petcat.EnforceBans, ratelimit.Banned, 1}, // where does the account stand?
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWork(time.Millisecond)
			l := testNode(t, w, tc.bans)
			send := func() ratelimit.Verdict {
				d, err := l.Spend(t.Context(), ratelimit.Charge{Account: 1, Key: 1, Quota: tc.quota})
				if err != nil {
					t.Fatal(err)
				}
				return d.Verdict
			}
			if tc.bans == petcat.EnforceBans {
				now := time.Now()
				l.ApplyBan(petcat.Ban{Key: 1, Account: 1, Level: petcat.MaxBanLevel, StartedAt: now, EndsAt: now.Add(time.Hour)})
			} else {
				for range 5 {
					send()
				}
			}
			before := w.calls.Load()
			for time.Now().Second() < 59 {
				time.Sleep(50 * time.Millisecond)
				if v := send(); v != tc.want {
					t.Fatalf("%s: %d", name, v)
				}
			}
			if calls := w.calls.Load() - before; calls > tc.most {
				t.Errorf("%s: the counters were asked %d times, want at most %d", name, calls, tc.most)
			}
		})
	}
}
