package clusterlimit

import (
	"reflect"
	"testing"
	"time"

	"petcat"
	"petcat/internal/counters"
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
			var a account
			a.learn(counters.Charge{}, counters.Facts{
				Now: at, MinuteUsed: tc.minute, Day: counters.Day{Series: 1, Known: true, Count: tc.day, Granted: tc.day},
			})
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

// TestAccountSize: docs/scaling.md derives a node's memory for an account from this.
func TestAccountSize(t *testing.T) {
	if got := reflect.TypeFor[account]().Size(); got != 104 {
		t.Errorf("an account takes %d bytes; docs/scaling.md says 104, under m", got)
	}
}
