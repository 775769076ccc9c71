package ratelimit

import (
	"errors"
	"testing"
	"time"
)

func TestState(t *testing.T) {
	const second = int64(time.Second)
	type event = func(state) state
	answer := func(now int64) event { return func(s state) state { return s.answer(now) } }
	failure := func(sent int64) event { return func(s state) state { return s.failure(sent) } }
	at := func(now int64) event { return func(s state) state { return s.at(now) } }
	for name, c := range map[string]struct {
		events []event
		want   state
	}{
		"time passes":                       {[]event{at(100 * second)}, state{phase: answering}},
		"an answer":                         {[]event{answer(5 * second)}, state{phase: answering, answered: 5 * second}},
		"an older answer":                   {[]event{answer(5), answer(4)}, state{phase: answering, answered: 5}},
		"a failed call":                     {[]event{answer(1), failure(2)}, state{phase: doubtful, since: 2, answered: 1}},
		"a later failed call":               {[]event{failure(2), failure(3)}, state{phase: doubtful, since: 2}},
		"a failed call that was sent first": {[]event{failure(3), failure(2)}, state{phase: doubtful, since: 2}},
		"an answer in doubt":                {[]event{failure(2), answer(3)}, state{phase: answering, answered: 3}},
		"a failed call after that":          {[]event{failure(2), answer(3), failure(4)}, state{phase: doubtful, since: 4, answered: 3}},
		"almost a second without answer":    {[]event{failure(2), at(second + 1)}, state{phase: doubtful, since: 2}},
		"a second without answer":           {[]event{failure(2), at(second + 2)}, state{phase: silent, since: second + 2}},
		"a failed call in silence":          {[]event{failure(2), at(second + 2), failure(1)}, state{phase: silent, since: second + 2}},
		"an answer in silence":              {[]event{failure(2), at(second + 2), answer(9)}, state{phase: answering, answered: 9}},
		"silent for 30 s":                   {[]event{failure(2), at(second + 2), at(31*second + 2)}, state{phase: silent, since: second + 2}},
		"silent for longer":                 {[]event{failure(2), at(second + 2), at(31*second + 3)}, state{phase: down, since: second + 2}},
		"a paused process":                  {[]event{failure(2), at(60 * second)}, state{phase: down, since: second + 2}},
		"a failed call while down":          {[]event{failure(2), at(60 * second), failure(1)}, state{phase: down, since: second + 2}},
		"the clock goes back while down":    {[]event{failure(2), at(60 * second), at(3)}, state{phase: down, since: second + 2}},
		"an answer while down":              {[]event{failure(2), at(60 * second), answer(9)}, state{phase: answering, answered: 9}},
	} {
		var s state
		for _, event := range c.events {
			s = event(s)
		}
		if s != c.want {
			t.Errorf("%s: got %+v, want %+v", name, s, c.want)
		}
		for phase, err := range map[phase]error{answering: nil, doubtful: nil, silent: ErrSilent, down: ErrDown} {
			if s.phase == phase && !errors.Is(s.err(), err) {
				t.Errorf("%s: got the error %v, want %v", name, s.err(), err)
			}
		}
	}
}

// Only an answer after a call was sent shows that the counters were not silent.
func TestAnsweredAfter(t *testing.T) {
	s := state{}.answer(5)
	for sent, want := range map[int64]bool{4: true, 5: false, 6: false} {
		if got := s.answeredAfter(sent); got != want {
			t.Errorf("a call sent at %d: got %t, want %t", sent, got, want)
		}
	}
}
