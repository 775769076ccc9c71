package clusterlimit

import (
	"reflect"
	"testing"
	"time"

	"petcat"
	"petcat/internal/counters"
	"petcat/internal/ratelimit"
)

// What is used up is refused without asking the counters, while it must still be so.
func TestSpentIsRemembered(t *testing.T) {
	const at = 20_000*24*int64(time.Hour) + int64(7*time.Second)
	quota := petcat.Quota{PerMinute: 10, PerDay: 100}
	type step struct {
		after time.Duration // since the counters told
		mode  mode
		want  way
	}
	for name, tc := range map[string]struct {
		minute, day int64 // used
		steps       []step
	}{
		"nothing": {9, 99, []step{{0, closed, ask}, {time.Second, closed, ask}}},
		"the day, which others may give back": {9, 100, []step{
			{time.Second, closed, ask},
			{time.Second, closed, refuse},
			{time.Second + dayRecheck - time.Nanosecond, closed, refuse},
			{time.Second + dayRecheck, closed, ask},
			{time.Second + dayRecheck, closed, refuse},
		}},
		"the day, without the counters": {9, 100, []step{{0, open, refuse}, {50 * time.Second, open, refuse}}},
		"the minute, whose end the clock here may miss": {10, 99, []step{
			{0, closed, refuse},
			{53*time.Second - askAgainBefore, closed, refuse},
			{53*time.Second - askAgainBefore + time.Nanosecond, closed, ask},
			{53 * time.Second, closed, ask},
		}},
		"the minute, without the counters": {10, 99, []step{{0, open, refuse}, {53*time.Second - time.Nanosecond, open, refuse}}},
	} {
		t.Run(name, func(t *testing.T) {
			a := told(at, quota, tc.minute, counters.Day{Series: 1, Known: true, Count: tc.day, Granted: tc.day})
			for i, s := range tc.steps {
				now := at + int64(s.after)
				v := view{state: state{mode: s.mode}, mono: now, now: now, members: &Membership{}}
				if got := a.way(v, quota); got != s.want {
					t.Errorf("step %d, after %s: it is decided by %d, want %d", i+1, s.after, got, s.want)
				}
			}
		})
	}
}

// told returns an account of which the counters told this.
func told(at int64, q petcat.Quota, minute int64, d counters.Day) (a account) {
	a.learn(counters.Charge{PerMinute: q.PerMinute, PerDay: q.PerDay}, counters.Facts{Now: at, MinuteUsed: minute, Day: d})
	return a
}

// TestOwedIsNotCountedTwice: what is owed may have been leased while the counters were
// unavailable. A day that is spent only if it counts twice is not remembered as spent, and
// nobody is told that it is.
func TestOwedIsNotCountedTwice(t *testing.T) {
	const at = 20_000*24*int64(time.Hour) + int64(7*time.Second)
	quota := petcat.Quota{PerMinute: 10, PerDay: 100}
	for _, tc := range []struct {
		count, owed int64
		mode        mode
		want        way
		verdict     ratelimit.Verdict
	}{
		{54, 46, closed, ask, ratelimit.Admitted},
		{54, 46, halfOpen, askWithin, ratelimit.Admitted},
		{54, 46, open, admitLocally, ratelimit.Admitted},
		{99, 1, closed, ask, ratelimit.Admitted},
		{100, 1, open, refuse, ratelimit.DaySpent},
		{100, 0, open, refuse, ratelimit.DaySpent},
	} {
		day := counters.Day{Series: 1, Known: true, Count: tc.count, Granted: 8, Owed: tc.owed}
		a := told(at, quota, 5, day)
		now := at + int64(time.Second)
		if used := a.usage(now, quota); used.Verdict() != tc.verdict {
			t.Errorf("with %d used and %d owed, the verdict is %v of %+v, want %v", tc.count, tc.owed, used.Verdict(), used, tc.verdict)
		}
		o := &pendingCharge{charge: ratelimit.Charge{Quota: quota}, overdraw: true, facts: counters.Facts{Now: now, MinuteUsed: 5, Day: day}}
		if used := o.used(); used.Verdict() != tc.verdict {
			t.Errorf("with %d used and %d owed, the counters' verdict is %v of %+v, want %v", tc.count, tc.owed, used.Verdict(), used, tc.verdict)
		}
		v := view{state: state{mode: tc.mode}, mono: now, now: now, members: &Membership{}}
		if got := a.way(v, quota); got != tc.want {
			t.Errorf("with %d used and %d owed, it is decided by %d, want %d", tc.count, tc.owed, got, tc.want)
		}
	}
}

// TestAccountSize: docs/scaling.md derives a node's memory for an account from this.
func TestAccountSize(t *testing.T) {
	if got := reflect.TypeFor[account]().Size(); got != 104 {
		t.Errorf("an account takes %d bytes; docs/scaling.md says 104, under m", got)
	}
}
