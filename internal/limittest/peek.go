package limittest

import (
	"testing"
	"time"

	"petcat"
	"petcat/internal/ratelimit"
)

func (r *rig) peek(c ratelimit.Charge) ratelimit.Decision {
	r.t.Helper()
	d, err := r.limiter.Peek(r.t.Context(), c)
	if err != nil {
		r.t.Fatal(err)
	}
	return d
}

// testPeeks: who asks where it stands is told what the next request would meet, and is
// charged nothing.
func testPeeks(t *testing.T, start New) {
	key := ratelimit.Charge{Account: 1, Key: 11, Quota: free}
	minute, midnight := unix(10, 1, 0), unix(24, 0, 0)

	t.Run("a peek charges nothing", func(t *testing.T) {
		r := newRig(t, start, petcat.EnforceBans)
		for used := range int64(4) {
			for range 3 {
				d := r.peek(key)
				wantEqual(t, "Verdict", d.Verdict, ratelimit.Admitted)
				wantState(t, "Minute", d.Minute, ratelimit.WindowState{Limit: 60, Remaining: 60 - used, Reset: minute})
				wantState(t, "Day", d.Day, ratelimit.WindowState{Limit: 1_000, Remaining: 1_000 - used, Reset: midnight})
			}
			r.spendTimes(1, key, ratelimit.Admitted)
		}
	})
	t.Run("a peek is no early retry", func(t *testing.T) {
		r := newRig(t, start, petcat.EnforceBans)
		r.offend(spender)
		for range 100 {
			d := r.peek(spender)
			wantEqual(t, "Verdict", d.Verdict, ratelimit.DaySpent)
			wantState(t, "Day", d.Day, ratelimit.WindowState{Limit: 1, Remaining: 0, Reset: midnight})
		}
		wantEqual(t, "Warn", r.spendTimes(1, spender, ratelimit.DaySpent).Warn, false)
	})
	t.Run("a peek tells a ban", func(t *testing.T) {
		r := newRig(t, start, petcat.EnforceBans)
		r.spendTimes(2, key, ratelimit.Admitted)
		end := origin.Add(5 * time.Minute)
		r.limiter.ApplyBan(petcat.Ban{Key: key.Key, Account: 1, Level: 2, StartedAt: origin, EndsAt: end})
		for range 3 {
			d := r.peek(key)
			wantEqual(t, "Verdict", d.Verdict, ratelimit.Banned)
			wantEqual(t, "BanEnds", d.BanEnds, end.Unix())
			wantState(t, "Minute", d.Minute, ratelimit.WindowState{Limit: 60, Remaining: 58, Reset: minute})
		}
		wantEqual(t, "BanEnds of another key", r.peek(ratelimit.Charge{Account: 1, Key: 12, Quota: free}).BanEnds, 0)
		r.clock.Advance(5 * time.Minute)
		wantEqual(t, "BanEnds after the ban", r.peek(key).BanEnds, 0)
	})
}
