package ratelimit_test

import (
	"testing"
	"testing/synctest"
	"time"

	"petcat"
	"petcat/internal/limittest"
	"petcat/internal/ratelimit"
)

func TestPart(t *testing.T) {
	for _, tc := range []struct {
		name string
		part ratelimit.Part
		want int64
	}{
		{"all of it", ratelimit.Part{}, 60},
		{"a share", ratelimit.PartOf(20), 20},
		{"never more than the quota", ratelimit.PartOf(1_000), 60},
		{"nothing", ratelimit.PartOf(0), 0},
		{"never less than nothing", ratelimit.PartOf(-1), 0},
	} {
		if got := tc.part.Of(60); got != tc.want {
			t.Errorf("%s: %d of 60, want %d", tc.name, got, tc.want)
		}
	}
}

// Who counts the minute elsewhere is refused by the day alone.
func TestSpendDayOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		c := ratelimit.Charge{Account: 1, Key: 1, Quota: petcat.Quota{PerMinute: 3, PerDay: 20}, DayOnly: true}
		for n := range int64(20) {
			d, err := r.Spend(t.Context(), c)
			if err != nil || d.Verdict != ratelimit.Admitted || d.Day.Remaining != 19-n {
				t.Fatalf("request %d: %+v, %v", n+1, d, err)
			}
		}
		d, err := r.Spend(t.Context(), c)
		if err != nil || d.Verdict != ratelimit.DaySpent {
			t.Errorf("past the day: %+v, %v", d, err)
		}
		c.DayOnly, c.Quota.PerDay = false, 40
		if d, err = r.Spend(t.Context(), c); err != nil || d.Minute.Remaining != 2 {
			t.Errorf("the minute was charged: %+v, %v", d, err)
		}
	})
}

// What others have counted of a day holds until the store tells.
func TestSetDayUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.store.Break(limittest.Faults{Write: errDisk, Read: errDisk})
		r.SetDayUsed(1, today, 400)
		want(t, "left without the store", r.admit(t, 1, 1), 599)
		r.SetDayUsed(1, today, 0)
		want(t, "left of an account that is known", r.admit(t, 1, 1), 598)
		r.SetDayUsed(2, today-1, 400) // another day's
		r.unavailable(t.Context(), t, 2)
	})
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.admit(t, 12, 1)
		r.clock.Advance(12 * time.Hour)
		r.SetDayUsed(1, today+1, 5)
		synctest.Wait()
		want(t, "the first day's count", r.days.Count(1, today), 12)
		want(t, "left when the store has told", r.admit(t, 1, 1), 999)
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.SetDayUsed(1, today+1, 5)
		want(t, "accounts after the end", r.Stats().Accounts, 0)
	})
}

func TestReleaseGivesBackWhatIsLeased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		c := ratelimit.Charge{Account: 1, Key: 1, Quota: thou}
		for range 7 {
			if _, err := r.Spend(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		r.Drain()
		if got := r.days.Count(1, today); got <= 7 {
			t.Fatalf("the store counts %d: nothing is leased ahead", got)
		}
		r.Release()
		r.Drain()
		if got := r.days.Count(1, today); got != 7 {
			t.Errorf("the store counts %d after the release, want 7", got)
		}
		d, err := r.Spend(t.Context(), c)
		if err != nil || d.Day.Remaining != 992 || d.Minute.Remaining != thou.PerMinute-8 {
			t.Errorf("after the release: %+v, %v; want both windows to go on", d, err)
		}
	})
}
