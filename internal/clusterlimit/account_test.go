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

// TestBudget: what becomes of a minute's budget, and of what the counters are to be told of it.
func TestBudget(t *testing.T) {
	const at = 20_000*24*int64(time.Hour) + int64(7*time.Second)
	const before, minute = at/int64(time.Minute) - 1, at / int64(time.Minute)
	quota := petcat.Quota{PerMinute: 10, PerDay: 100}
	v := view{state: state{mode: open}, mono: at, now: at, members: &Membership{}}
	if began := v.began(); began != at-int64(7*time.Second) {
		t.Errorf("the minute began at %d, want %d", began, at-int64(7*time.Second))
	}
	spend := func(taken int64, unknown bool) func(*account) bool {
		return func(a *account) bool { return a.spendLocally(v, quota.PerMinute, taken, unknown) }
	}
	does := func(fn func(*account)) func(*account) bool { return func(a *account) bool { fn(a); return true } }
	a := told(at, quota, 4, counters.Day{Series: 1, Known: true, Count: 20, Granted: 20}) // 6 are left
	var reported counters.Charge
	for i, step := range []struct {
		what              string
		do                func(*account) bool
		refused           bool
		spent, unreported int64
	}{
		{"admitted by the counters before there is a budget", does(func(a *account) { a.counted(at) }), false, 0, 0},
		{"admitted here", spend(0, false), false, 1, 1},
		{"and again", spend(0, false), false, 2, 2},
		{"of what was taken for it", spend(minute, false), false, 2, 3},
		{"what the counters may have counted", spend(0, true), false, 3, 3},
		{"admitted by the counters", does(func(a *account) { a.counted(at) }), false, 4, 3},
		{"admitted by them in the next minute", does(func(a *account) { a.counted(at + int64(time.Minute)) }), false, 4, 3},
		{"reported", does(func(a *account) { a.report(&reported) }), false, 4, 0},
		{"not reported after all", does(func(a *account) { a.unreport(reported) }), false, 4, 3},
		{"a report of another minute is not taken back", does(func(a *account) { a.unreport(counters.Charge{Minute: before, Reported: 7}) }), false, 4, 3},
		{"given back", does(func(a *account) { a.release(minute, true) }), false, 3, 2},
		{"given back before it was counted", does(func(a *account) { a.release(minute, false) }), false, 2, 2},
		{"given back of another minute", does(func(a *account) { a.release(before, true) }), false, 2, 2},
		{"taken", does(func(a *account) { a.take(v, quota.PerMinute) }), false, 3, 2},
		{"taken", does(func(a *account) { a.take(v, quota.PerMinute) }), false, 4, 2},
		{"taken", does(func(a *account) { a.take(v, quota.PerMinute) }), false, 5, 2},
		{"the last", spend(0, false), false, 6, 3},
		{"one too many", spend(0, false), true, 6, 3},
		{"the next minute begins", does(func(a *account) { a.rollOver(at + int64(time.Minute)) }), false, 0, 0},
		{"given back when nothing is taken", does(func(a *account) { a.release(minute+1, true) }), false, 0, 0},
	} {
		if admitted := step.do(&a); admitted == step.refused || a.spent != step.spent || a.unreported != step.unreported {
			t.Fatalf("step %d, %s: admitted %v, %d spent, %d unreported; want %v, %d, %d", i+1, step.what, admitted, a.spent, a.unreported, !step.refused, step.spent, step.unreported)
		}
	}
	if want := (counters.Charge{Minute: minute, Reported: 3}); reported != want {
		t.Errorf("it reported %+v, want %+v", reported, want)
	}
}

// TestBudgetOfAnotherPlan: a budget changes with the plan, by this node's share of the
// difference.
func TestBudgetOfAnotherPlan(t *testing.T) {
	const at = 20_000*24*int64(time.Hour) + int64(7*time.Second)
	two := &Membership{ReadAt: at, Self: "a", Members: []counters.Member{{ID: "a", Joined: time.Hour}, {ID: "b", Joined: time.Hour}}}
	for members, steps := range map[*Membership][][2]int64{
		{}:  {{10, 5}, {300, 295}, {60, 55}, {6, 1}, {4, -1}},
		two: {{10, 2}, {300, 147}, {60, 27}, {6, 0}, {4, -1}},
	} {
		a := told(at, petcat.Quota{PerMinute: 10, PerDay: 100}, 4, counters.Day{}) // 6 are left, of all nodes
		v := view{state: state{mode: open}, mono: at, now: at, members: members}
		a.take(v, 10)
		for _, step := range steps {
			if left := a.left(v, step[0]); left != step[1] {
				t.Errorf("%d nodes: of %d a minute %d are left, want %d", max(1, len(members.Members)), step[0], left, step[1])
			}
		}
	}
}

// TestDayIsRemembered: what a node knows of a day, from the counters and from its own leases.
func TestDayIsRemembered(t *testing.T) {
	const day = int64(24 * time.Hour)
	const at = 20_000*day + int64(7*time.Second)
	quota := petcat.Quota{PerMinute: 10, PerDay: 100}
	answer := func(used int64) counters.Day { return counters.Day{Series: 1, Known: true, Count: used, Granted: used} }
	for what, tc := range map[string]struct {
		do          func(*account)
		known       bool
		used, local int64
	}{
		"the counters told":                {func(*account) {}, true, 20, 0},
		"its leases tell of more":          {func(a *account) { a.dayCounted(at, 30, 100) }, true, 30, 30},
		"of less":                          {func(a *account) { a.dayCounted(at, 10, 100) }, true, 20, 10},
		"of all but one":                   {func(a *account) { a.dayCounted(at, 99, 100) }, true, 99, 99},
		"of all, and others may give back": {func(a *account) { a.dayCounted(at, 100, 100) }, true, 20, 100},
		"of another day":                   {func(a *account) { a.dayCounted(at+day, 30, 100) }, true, 20, 0},
		"of more, and then of less":        {func(a *account) { a.dayCounted(at, 30, 100); a.dayCounted(at, 25, 100) }, true, 30, 30},
		"the counters were told that": {func(a *account) {
			a.dayCounted(at, 30, 100)
			a.learn(counters.Charge{DayUsed: 30}, counters.Facts{Now: at, Day: answer(31)})
		}, true, 31, 0},
		"they were told less": {func(a *account) {
			a.dayCounted(at, 30, 100)
			a.learn(counters.Charge{DayUsed: 29}, counters.Facts{Now: at, Day: answer(31)})
		}, true, 31, 30},
		"of the next day nothing is used":                {func(a *account) { a.dayCounted(at, 30, 100); a.rollOver(at + day) }, true, 0, 0},
		"of the one after it, nothing is known":          {func(a *account) { a.rollOver(at + 2*day) }, false, 0, 0},
		"nor of the day before, after a clock was wrong": {func(a *account) { a.rollOver(at - day) }, false, 0, 0},
	} {
		a := told(at, quota, 4, answer(20))
		tc.do(&a)
		if a.dayKnown != tc.known || a.dayUsed != tc.used || a.dayLocal != tc.local {
			t.Errorf("%s: known %v, %d used, %d by its leases; want %v, %d, %d", what, a.dayKnown, a.dayUsed, a.dayLocal, tc.known, tc.used, tc.local)
		}
	}
}
