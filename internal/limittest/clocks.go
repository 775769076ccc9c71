package limittest

import (
	"testing"
	"time"

	"petcat"
	"petcat/internal/ratelimit"
)

func testClock(t *testing.T, start New) {
	key := ratelimit.Charge{Account: 1, Key: 11, Quota: free}

	t.Run("set back: no window comes twice", func(t *testing.T) {
		for _, back := range []time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour, 400 * 24 * time.Hour} {
			r := newRig(t, start, petcat.EnforceBans)
			before := r.spendTimes(60, key, ratelimit.Admitted)
			r.clock.Step(-back)
			d := r.spendTimes(1, key, ratelimit.MinuteSpent)
			wantEqual(t, "Now after a step of -"+back.String(), d.Now, before.Now)
			wantEqual(t, "Reset after a step of -"+back.String(), d.Effective.Reset, before.Effective.Reset)
			// Nobody waits for the wall clock to catch up.
			r.clock.Advance(time.Duration(d.RetryAfter) * time.Second)
			r.spendTimes(1, key, ratelimit.Admitted)
		}
	})

	t.Run("set forward: followed at once", func(t *testing.T) {
		r := newRig(t, start, petcat.EnforceBans)
		r.spendTimes(60, key, ratelimit.Admitted)
		r.clock.Step(time.Minute)
		d := r.spendTimes(1, key, ratelimit.Admitted)
		wantEqual(t, "Now", d.Now, origin.Add(time.Minute).UnixNano())
		r.clock.Step(24 * time.Hour)
		wantEqual(t, "Day.Remaining", r.spendTimes(1, key, ratelimit.Admitted).Day.Remaining, 999)
		// And back again: the day that was begun is not given twice.
		r.clock.Step(-24 * time.Hour)
		wantEqual(t, "Day.Remaining after the step back", r.spendTimes(1, key, ratelimit.Admitted).Day.Remaining, 998)
	})
}
