package redislimit

import (
	"testing"
	"time"

	"petcat"
)

func TestShare(t *testing.T) {
	for _, tc := range []struct {
		name string
		view view
		s    situation
		want int64
	}{
		{"a new minute", view{}, situation{nodes: 3}, 20},
		{"alone in the world", view{}, situation{nodes: 1}, 60},
		{"more nodes than requests", view{}, situation{nodes: 100}, 1},
		{"a minute that nothing is known of", view{}, situation{nodes: 3, begun: 0.5}, 10},
		{"the end of such a minute", view{}, situation{nodes: 3, begun: 0.99}, 1},
		{"half of it used, evenly", view{told: 30, own: 10}, situation{nodes: 3, begun: 0.1}, 10},
		{"half of it used, all of it here", view{told: 30, own: 30}, situation{nodes: 3}, 10},
		{"half of it used, little of it here", view{told: 30, own: 3}, situation{nodes: 3}, 3},
		{"all of it used", view{told: 60, own: 20}, situation{nodes: 3}, 0},
		{"more than all of it used", view{told: 70, own: 20}, situation{nodes: 3}, 0},
		{"more under way then", view{told: 30, own: 10, beside: 4}, situation{nodes: 3}, 6},
		{"more under way than is left", view{told: 54, own: 18, beside: 4}, situation{nodes: 3}, 0},
		{"nothing known, more under way", view{flying: 4}, situation{nodes: 3}, 16},
		{"nothing known, all of it under way", view{flying: 40}, situation{nodes: 3}, 1},
		{"some of it not told yet", view{told: 30, own: 10, alone: 9}, situation{nodes: 3}, 7},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.view.share(tc.s, 60); got != tc.want {
				t.Errorf("share = %d of 60, want %d", got, tc.want)
			}
		})
	}
}

// What a node may admit alone is settled when it is left alone: telling the
// server what it admitted adds nothing, and nor does a server that comes and goes
// without a word.
func TestMayAloneIsSettledOnce(t *testing.T) {
	v := view{minute: 7, told: 30, own: 10}
	away := situation{phase: 2, minute: 7, nodes: 3}
	step := func(what string, s situation, perMinute, want int64) {
		t.Helper()
		if got := v.mayAlone(s, perMinute); got != want {
			t.Errorf("%s: %d, want %d", what, got, want)
		}
	}
	step("left alone", away, 60, 10)
	v.alone = 10
	step("having used it", away, 60, 10)
	v.told, v.merged = 60, 10
	step("having told the server", away, 60, 10)
	away.phase = 4
	step("left alone again, when nothing is left", away, 60, 10)
	v.told = 61
	away.phase = 6
	step("and again", away, 60, 10)
	step("on a larger plan", away, 90, 20)
	away.phase = 8
	step("after a server that said nothing", away, 90, 20)
	v.told = 70
	step("and that was told in the same phase", away, 90, 20)

	v.turn(8)
	away.minute = 8
	step("in the next minute", away, 90, 30)
}

// A server that is there and decides nothing is no reason to settle anew: each node
// would take its share of what it does not know that the others take.
func TestMayAloneWaitsForADecision(t *testing.T) {
	const account, perMinute = 1, 60
	var vs views
	now := 7 * int64(time.Minute)
	answer := func(c code, used int64) {
		vs.sent(account)
		vs.answered(account, facts{now: now, minuteUsed: used, code: c})
	}
	want := func(what string, phase uint32, want int64) {
		t.Helper()
		vs.look(account, func(v *view) {
			if got := v.mayAlone(situation{phase: phase, minute: 7, nodes: 3}, perMinute); got != want {
				t.Errorf("%s: %d, want %d", what, got, want)
			}
		})
	}
	for used := range int64(30) {
		answer(codeAdmitted, used+1)
	}
	answer(codeUnknown, 30)
	want("the server was emptied", 0, 10)
	for range 10 {
		vs.admittedAlone(account, 7)
	}
	d, _ := vs.debt(account)
	vs.settle(d, 45) // another node has told the server, a third has not
	answer(codeUnknown, 45)
	want("having told it", 0, 10)
	answer(codeEmpty, 50)
	want("without a block of the day", 0, 10)
	answer(codeAdmitted, 54)
	want("after a decision", 0, 10+2)
	answer(codeMinuteSpent, 60)
	want("with nothing left", 0, 10)
	want("left alone then", 2, 10)
}

// What was under way with the last answer is what others may have been answered
// since; and is not when it comes back lost.
func TestViewsCountWhatIsUnderWay(t *testing.T) {
	const account = 1
	var vs views
	want := func(what string, flying, beside int32) {
		t.Helper()
		vs.look(account, func(v *view) {
			if v.flying != flying || v.beside != beside {
				t.Errorf("%s: %d under way, %d with the last answer; want %d and %d", what, v.flying, v.beside, flying, beside)
			}
		})
	}
	answer := func(minute int64) {
		vs.answered(account, facts{now: minute * int64(time.Minute), code: codeAdmitted})
	}
	for range 4 {
		vs.sent(account)
	}
	answer(7)
	want("one of four answered", 3, 3)
	vs.lost(account)
	want("one lost", 2, 3)
	answer(8)
	want("one answered in the next minute", 1, 1)
	answer(7)
	want("an answer that was overtaken", 0, 1)
}

// told returns what the server last told of an account's minute.
func told(vs *views, id petcat.AccountID) (minute, used int64) {
	vs.look(id, func(v *view) { minute, used = v.minute, v.told })
	return minute, used
}

func TestViewsOwe(t *testing.T) {
	var vs views
	vs.sent(1)
	vs.answered(1, facts{now: 7 * int64(time.Minute), minuteUsed: 30, code: codeAdmitted, dayUsed: 300})
	if minute, used := told(&vs, 1); minute != 7 || used != 30 {
		t.Errorf("told %d in minute %d, want 30 in 7", used, minute)
	}
	if used, known := vs.today(1, 0); !known || used != 300 {
		t.Errorf("%d of the day, %v; want 300", used, known)
	}
	if _, known := vs.today(1, 1); known {
		t.Error("the next day's use is known")
	}
	if vs.owing() {
		t.Error("something is owed before anything was admitted alone")
	}
	vs.admittedAlone(1, 7)
	vs.admittedAlone(1, 7)
	ids := vs.takeDirty()
	if len(ids) != 1 || vs.owing() {
		t.Fatalf("%v owe, want account 1, once", ids)
	}
	d, owes := vs.debt(1)
	if want := (debt{account: 1, minute: 7, told: 30, alone: 2}); !owes || d != want {
		t.Errorf("debt = %+v, %v; want %+v", d, owes, want)
	}
	// Another request while the server is told.
	vs.admittedAlone(1, 7)
	vs.settle(d, 32)
	if d, owes = vs.debt(1); !owes || d.alone != 3 || d.merged != 2 || d.told != 32 {
		t.Errorf("debt afterwards = %+v, %v; want 1", d, owes)
	}
	vs.putDirty([]petcat.AccountID{1})
	vs.keepDirty(vs.takeDirty())
	if !vs.owing() {
		t.Error("a debt that could not be told was forgotten")
	}
	const later = 7 + idleMinutes + 1
	vs.sweep(later)
	if _, used := told(&vs, 1); used != 32 {
		t.Error("an account that owes was dropped")
	}
	vs.takeDirty()
	vs.debt(1)
	vs.sweep(later - 1)
	if _, known := vs.today(1, 0); !known {
		t.Error("an account that was there a while ago was dropped")
	}
	vs.sweep(later)
	if _, used := told(&vs, 1); used != 0 {
		t.Error("an idle account was kept")
	}
}
