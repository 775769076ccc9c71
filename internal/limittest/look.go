package limittest

import (
	"testing"
	"time"

	"petcat"
	"petcat/internal/ratelimit"
)

func (r *rig) look(c ratelimit.Charge) ratelimit.Decision {
	r.t.Helper()
	d, err := r.limiter.Look(r.t.Context(), c)
	if err != nil {
		r.t.Fatal(err)
	}
	return d
}

// testLooks: who asks where it stands is told what the next request would meet, and is
// charged nothing.
func testLooks(t *testing.T, start New) {
	key := ratelimit.Charge{Account: 1, Key: 11, Quota: free}
	minute, midnight := unix(10, 1, 0), unix(24, 0, 0)

	t.Run("a look charges nothing", func(t *testing.T) {
		r := newRig(t, start, petcat.EnforceBans)
		for used := range int64(4) {
			for range 3 {
				d := r.look(key)
				wantEqual(t, "Verdict", d.Verdict, ratelimit.Admitted)
				wantState(t, "Minute", d.Minute, ratelimit.WindowState{Limit: 60, Remaining: 60 - used, Reset: minute})
				wantState(t, "Day", d.Day, ratelimit.WindowState{Limit: 1_000, Remaining: 1_000 - used, Reset: midnight})
			}
			r.spendTimes(1, key, ratelimit.Admitted)
		}
	})
	t.Run("a look is no early retry", func(t *testing.T) {
		r := newRig(t, start, petcat.EnforceBans)
		r.offend(spender)
		for range 100 {
			d := r.look(spender)
			wantEqual(t, "Verdict", d.Verdict, ratelimit.DaySpent)
			wantState(t, "Day", d.Day, ratelimit.WindowState{Limit: 1, Remaining: 0, Reset: midnight})
		}
		wantEqual(t, "Warn", r.spendTimes(1, spender, ratelimit.DaySpent).Warn, false)
	})
	t.Run("a look tells a ban", func(t *testing.T) {
		r := newRig(t, start, petcat.EnforceBans)
		r.spendTimes(2, key, ratelimit.Admitted)
		end := origin.Add(5 * time.Minute)
		r.limiter.ApplyBan(petcat.Ban{Key: key.Key, Account: 1, Level: 2, StartedAt: origin, EndsAt: end})
		for range 3 {
			d := r.look(key)
			wantEqual(t, "Verdict", d.Verdict, ratelimit.Banned)
			wantEqual(t, "BanEnds", d.BanEnds, end.Unix())
			wantState(t, "Minute", d.Minute, ratelimit.WindowState{Limit: 60, Remaining: 58, Reset: minute})
		}
		wantEqual(t, "BanEnds of another key", r.look(ratelimit.Charge{Account: 1, Key: 12, Quota: free}).BanEnds, 0)
		r.clock.Advance(5 * time.Minute)
		wantEqual(t, "BanEnds after the ban", r.look(key).BanEnds, 0)
	})
}
