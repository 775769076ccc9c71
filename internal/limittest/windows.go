package limittest

import (
	"testing"
	"time"

	"petcat"
	"petcat/internal/ratelimit"
)

func testWindows(t *testing.T, start New) {
	key := ratelimit.Charge{Account: 1, Key: 11, Quota: free}
	midnight := unix(24, 0, 0)

	t.Run("first answer of a Free key", func(t *testing.T) {
		r := newRig(t, start, petcat.EnforceBans)
		d := r.spend(key)
		wantEqual(t, "Verdict", d.Verdict, ratelimit.Admitted)
		wantEqual(t, "Now", d.Now, origin.UnixNano())
		wantEqual(t, "RetryAfter", d.RetryAfter, 0)
		wantState(t, "Effective", d.Effective, ratelimit.WindowState{Limit: 60, Remaining: 59, Reset: unix(10, 1, 0)})
		wantState(t, "Minute", d.Minute, ratelimit.WindowState{Limit: 60, Remaining: 59, Reset: unix(10, 1, 0)})
		wantState(t, "Day", d.Day, ratelimit.WindowState{Limit: 1_000, Remaining: 999, Reset: midnight})
	})

	t.Run("the minute refuses and leaves the day alone", func(t *testing.T) {
		r := newRig(t, start, petcat.EnforceBans)
		r.spendTimes(60, key, ratelimit.Admitted)
		d := r.spendTimes(5, key, ratelimit.MinuteSpent)
		wantState(t, "Effective", d.Effective, ratelimit.WindowState{Limit: 60, Remaining: 0, Reset: unix(10, 1, 0)})
		wantState(t, "Day", d.Day, ratelimit.WindowState{Limit: 1_000, Remaining: 940, Reset: midnight})
		wantEqual(t, "RetryAfter", d.RetryAfter, 42)

		r.clock.Advance(42*time.Second - time.Nanosecond)
		d = r.spend(key)
		wantEqual(t, "verdict just before the reset", d.Verdict, ratelimit.MinuteSpent)
		wantEqual(t, "RetryAfter just before the reset", d.RetryAfter, 1)

		r.clock.Advance(time.Nanosecond)
		d = r.spend(key)
		wantEqual(t, "verdict at the reset", d.Verdict, ratelimit.Admitted)
		wantState(t, "Day", d.Day, ratelimit.WindowState{Limit: 1_000, Remaining: 939, Reset: midnight})
	})

	t.Run("the day refuses and leaves the minute alone", func(t *testing.T) {
		r := newRig(t, start, petcat.EnforceBans)
		c := ratelimit.Charge{Account: 1, Key: 11, Quota: petcat.Quota{PerMinute: 60, PerDay: 10}}
		r.spendTimes(10, c, ratelimit.Admitted)
		d := r.spendTimes(3, c, ratelimit.DaySpent)
		wantState(t, "Effective", d.Effective, ratelimit.WindowState{Limit: 10, Remaining: 0, Reset: midnight})
		wantState(t, "Minute", d.Minute, ratelimit.WindowState{Limit: 60, Remaining: 50, Reset: unix(10, 1, 0)})
		left := midnight - origin.Unix()
		if d.RetryAfter < left || d.RetryAfter > left+60 {
			t.Errorf("RetryAfter = %d, want %d to %d", d.RetryAfter, left, left+60)
		}
		promise := d.Now/1e9 + d.RetryAfter
		r.clock.Advance(10 * time.Minute)
		d = r.spend(c)
		wantEqual(t, "the promised moment, asked for again", d.Now/1e9+d.RetryAfter, promise)

		r.clock.Advance(time.Unix(midnight, 0).Sub(origin) - 10*time.Minute)
		d = r.spend(c)
		wantEqual(t, "verdict on the next day", d.Verdict, ratelimit.Admitted)
		wantState(t, "Effective on the next day", d.Effective, ratelimit.WindowState{Limit: 10, Remaining: 9, Reset: midnight + 86_400})
	})

	t.Run("the day's jitter differs among keys", func(t *testing.T) {
		r := newRig(t, start, petcat.EnforceBans)
		seen := make(map[int64]bool)
		for i := range int64(100) {
			c := ratelimit.Charge{Account: petcat.AccountID(i + 1), Key: petcat.KeyID(i + 1), Quota: petcat.Quota{PerMinute: 9, PerDay: 1}}
			r.spendTimes(1, c, ratelimit.Admitted)
			seen[r.spendTimes(1, c, ratelimit.DaySpent).RetryAfter] = true
		}
		if len(seen) < 20 {
			t.Errorf("100 keys come back in %d different seconds", len(seen))
		}
	})

	for _, tc := range []struct {
		name  string
		quota petcat.Quota
		spend int
		want  ratelimit.WindowState
	}{
		{"effective: the lowest remaining, the minute", petcat.Quota{PerMinute: 5, PerDay: 9}, 3, ratelimit.WindowState{Limit: 5, Remaining: 2, Reset: unix(10, 1, 0)}},
		{"effective: the lowest remaining, the day", petcat.Quota{PerMinute: 9, PerDay: 5}, 3, ratelimit.WindowState{Limit: 5, Remaining: 2, Reset: midnight}},
		{"effective: the day on a tie", petcat.Quota{PerMinute: 5, PerDay: 5}, 3, ratelimit.WindowState{Limit: 5, Remaining: 2, Reset: midnight}},
		{"effective: the day when both refuse", petcat.Quota{PerMinute: 5, PerDay: 5}, 6, ratelimit.WindowState{Limit: 5, Remaining: 0, Reset: midnight}},
		{"effective: a refusing minute before an allowing day", petcat.Quota{PerMinute: 5, PerDay: 6}, 6, ratelimit.WindowState{Limit: 5, Remaining: 0, Reset: unix(10, 1, 0)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, start, petcat.EnforceBans)
			var d ratelimit.Decision
			for range tc.spend {
				d = r.spend(ratelimit.Charge{Account: 1, Key: 11, Quota: tc.quota})
			}
			wantState(t, "Effective", d.Effective, tc.want)
		})
	}

	t.Run("keys of an account share its counts", func(t *testing.T) {
		r := newRig(t, start, petcat.EnforceBans)
		r.spendTimes(30, key, ratelimit.Admitted)
		other := key
		other.Key = 12
		wantEqual(t, "Remaining", r.spend(other).Effective.Remaining, 29)
		stranger := ratelimit.Charge{Account: 2, Key: 21, Quota: free}
		wantEqual(t, "Remaining of another account", r.spend(stranger).Effective.Remaining, 59)
	})

	t.Run("a plan change takes effect at once and what is used stays used", func(t *testing.T) {
		r := newRig(t, start, petcat.EnforceBans)
		r.spendTimes(60, key, ratelimit.Admitted)
		r.spendTimes(1, key, ratelimit.MinuteSpent)

		up := key
		up.Quota = business
		d := r.spendTimes(1, up, ratelimit.Admitted)
		wantState(t, "Minute", d.Minute, ratelimit.WindowState{Limit: 1_000, Remaining: 939, Reset: unix(10, 1, 0)})
		wantState(t, "Day", d.Day, ratelimit.WindowState{Limit: 100_000, Remaining: 99_939, Reset: midnight})

		down := key
		down.Quota = petcat.Quota{PerMinute: 100, PerDay: 50}
		d = r.spendTimes(1, down, ratelimit.DaySpent)
		wantState(t, "Effective below what is used", d.Effective, ratelimit.WindowState{Limit: 50, Remaining: 0, Reset: midnight})
		wantEqual(t, "Remaining after the change back", r.spendTimes(1, up, ratelimit.Admitted).Day.Remaining, 99_938)
	})
}
