package clusterlimit

import (
	"testing"
	"time"

	"petcat/internal/counters"
)

// TestState: what a node makes of calls and probes that are answered, and of those that are
// not.
func TestState(t *testing.T) {
	t.Parallel()
	const at = int64(time.Hour)
	ago := func(d time.Duration) int64 { return at - int64(d) }
	late := func(s state) state { return s.late(at) }
	unanswered := func(s state) state { return s.unanswered(at) }
	known, next := counters.Epoch{ID: 1, Began: 7}, counters.Epoch{ID: 2, Began: 8}
	answered := func(e counters.Epoch, reported bool) func(state) state {
		return func(s state) state { return s.answered(at, e, reported) }
	}
	begun := ago(time.Minute)
	for name, tc := range map[string]struct {
		step         func(state) state
		before, want state
	}{
		"a first late call raises a doubt": {
			late,
			state{closed, begun, 0, known, begun},
			state{closed, begun, at, known, begun},
		},
		"another late call changes nothing": {
			late,
			state{closed, begun, ago(time.Second), known, begun},
			state{closed, begun, ago(time.Second), known, begun},
		},
		"a late call of counters that have just come back": {
			late,
			state{halfOpen, ago(time.Second), 0, known, begun},
			state{open, at, at, known, begun},
		},
		"a late call of counters that are lost": {
			late,
			state{open, ago(time.Second), ago(2 * time.Second), known, begun},
			state{open, ago(time.Second), ago(2 * time.Second), known, begun},
		},
		"a first probe without an answer": {
			unanswered,
			state{closed, begun, 0, known, begun},
			state{closed, begun, at, known, begun},
		},
		"one too early to tell": {
			unanswered,
			state{closed, begun, ago(doubtFor - 1), known, begun},
			state{closed, begun, ago(doubtFor - 1), known, begun},
		},
		"one that ends the doubt": {
			unanswered,
			state{closed, begun, ago(doubtFor), known, begun},
			state{open, at, ago(doubtFor), known, begun},
		},
		"one of counters that have just come back": {
			unanswered,
			state{halfOpen, ago(time.Second), 0, known, begun},
			state{open, at, at, known, begun},
		},
		"one of counters that are lost": {
			unanswered,
			state{open, ago(time.Second), ago(2 * time.Second), known, begun},
			state{open, ago(time.Second), ago(2 * time.Second), known, begun},
		},
		"an answer ends a doubt": {
			answered(known, true),
			state{closed, begun, ago(time.Second), known, begun},
			state{closed, begun, 0, known, begun},
		},
		"the first answer of all": {
			answered(known, true),
			newState(ago(time.Second)),
			state{closed, at, 0, known, at},
		},
		"the first after an outage": {
			answered(known, true),
			state{open, ago(time.Second), ago(2 * time.Second), known, begun},
			state{halfOpen, at, 0, known, begun},
		},
		"the first after an outage, in another epoch": {
			answered(next, true),
			state{open, ago(time.Second), ago(2 * time.Second), known, begun},
			state{halfOpen, at, 0, next, at},
		},
		"another, before all nodes can have reported": {
			answered(known, true),
			state{halfOpen, ago(halfOpenFor - 1), 0, known, begun},
			state{halfOpen, ago(halfOpenFor - 1), 0, known, begun},
		},
		"another, when they have": {
			answered(known, true),
			state{halfOpen, ago(halfOpenFor), 0, known, begun},
			state{closed, at, 0, known, begun},
		},
		"another, and this node has not": {
			answered(known, false),
			state{halfOpen, ago(halfOpenFor), 0, known, begun},
			state{halfOpen, ago(halfOpenFor), 0, known, begun},
		},
	} {
		if got := tc.step(tc.before); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

func TestUntilProbe(t *testing.T) {
	t.Parallel()
	const at = int64(time.Hour)
	for lost, want := range map[int64]time.Duration{
		0: probeEvery, at: probeAgain, at - int64(time.Second) + 1: probeAgain, at - int64(time.Second): probeEvery,
	} {
		if got := (state{lost: lost}).untilProbe(at); got != want {
			t.Errorf("lost at %d: the next probe is due after %s, want %s", lost, got, want)
		}
	}
}

// TestSuspect: when the counters may lack something of the minute.
func TestSuspect(t *testing.T) {
	t.Parallel()
	const (
		mono = int64(3 * time.Hour)
		now  = int64(5*time.Hour + 7*time.Second)
	)
	for name, tc := range map[string]struct {
		mode   mode
		began  time.Duration // the epoch, ago by the counters' clock
		begun  time.Duration // ago, for this node
		joined time.Duration // another node, ago
		want   bool
	}{
		"the epoch is old": {closed, 8 * time.Second, 8 * time.Second, time.Hour, false},
		"it is old, and others may not have reported":     {halfOpen, time.Hour, time.Hour, time.Hour, true},
		"it began with the minute":                        {closed, 7 * time.Second, 7 * time.Second, time.Hour, true},
		"it began just now":                               {closed, 0, 0, time.Hour, true},
		"it began when the nodes did":                     {closed, 3 * time.Second, 3 * time.Second, 3*time.Second + settleBefore, false},
		"a node was there before":                         {closed, 3 * time.Second, 3 * time.Second, 3*time.Second + settleBefore + 1, true},
		"the clock was set back":                          {closed, -time.Hour, 2*time.Minute - 1, time.Hour, true},
		"the clock was set back, and that minute is over": {closed, -time.Hour, 2 * time.Minute, time.Hour, false},
	} {
		s := state{mode: tc.mode, epoch: counters.Epoch{ID: 1, Began: now - int64(tc.began)}, begun: mono - int64(tc.begun)}
		m := &Membership{ReadAt: mono, Self: "a", Members: []counters.Member{{ID: "a"}, {ID: "b", Joined: tc.joined}}}
		if got := s.suspect(mono, now, m); got != tc.want {
			t.Errorf("%s: suspect %v, want %v", name, got, tc.want)
		}
	}
}

func TestLeftAtLoss(t *testing.T) {
	t.Parallel()
	const (
		mono = int64(3 * time.Hour)
		now  = int64(5*time.Hour + 7*time.Second)
	)
	for lost, want := range map[int64]time.Duration{
		0:                           time.Minute,
		mono:                        53 * time.Second,
		mono - int64(2*time.Second): 55 * time.Second,
		mono - int64(7*time.Second): time.Minute,
		mono - int64(8*time.Second): time.Minute, // in the minute before
	} {
		if got := (state{lost: lost}).leftAtLoss(mono, now); got != int64(want) {
			t.Errorf("lost at %d: %s of the minute were left, want %s", lost, time.Duration(got), want)
		}
	}
}
