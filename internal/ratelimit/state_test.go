package ratelimit

import (
	"errors"
	"testing"
)

func TestState(t *testing.T) {
	// A call is sent at 2 and fails; then there is silence from quiet to over.
	const quiet, over = 2 + int64(silence), 2 + int64(silence+trust)
	type event = func(state) state
	response := func(now int64) event { return func(s state) state { return s.response(now) } }
	failure := func(sent int64) event { return func(s state) state { return s.failure(sent) } }
	at := func(now int64) event { return func(s state) state { return s.at(now) } }
	type events = []event
	for name, c := range map[string]struct {
		events events
		want   state
	}{
		"time passes":                      {events{at(over)}, state{responding, 0, 0}},
		"a response":                       {events{response(5)}, state{responding, 0, 5}},
		"an older response":                {events{response(5), response(4)}, state{responding, 0, 5}},
		"a failed call":                    {events{response(1), failure(2)}, state{doubtful, 2, 1}},
		"a later failed call":              {events{failure(2), failure(3)}, state{doubtful, 2, 0}},
		"an earlier call fails later":      {events{failure(3), failure(2)}, state{doubtful, 2, 0}},
		"a response in doubt":              {events{failure(2), response(3)}, state{responding, 0, 3}},
		"a response while a call runs":     {events{response(5), failure(2)}, state{doubtful, 5, 5}},
		"a call fails after that":          {events{failure(2), response(3), failure(4)}, state{doubtful, 4, 3}},
		"almost a second without response": {events{failure(2), at(quiet - 1)}, state{doubtful, 2, 0}},
		"a second without response":        {events{failure(2), at(quiet)}, state{silent, quiet, 0}},
		"a failed call in silence":         {events{failure(2), at(quiet), failure(1)}, state{silent, quiet, 0}},
		"a response in silence":            {events{failure(2), at(quiet), response(9)}, state{responding, 0, 9}},
		"silent for 30 s":                  {events{failure(2), at(quiet), at(over)}, state{silent, quiet, 0}},
		"silent for longer":                {events{failure(2), at(quiet), at(over + 1)}, state{down, quiet, 0}},
		"the process was paused in doubt":  {events{failure(2), at(over + 1)}, state{down, quiet, 0}},
		"a failed call while down":         {events{failure(2), at(over + 1), failure(1)}, state{down, quiet, 0}},
		"the clock goes back":              {events{failure(2), at(over + 1), at(3)}, state{down, quiet, 0}},
		"a response while down":            {events{failure(2), at(over + 1), response(9)}, state{responding, 0, 9}},
	} {
		var s state
		for _, event := range c.events {
			s = event(s)
		}
		if s != c.want {
			t.Errorf("%s: got %+v, want %+v", name, s, c.want)
		}
	}
}

func TestStateErr(t *testing.T) {
	for phase, want := range map[phase]error{responding: nil, doubtful: nil, silent: ErrSilent, down: ErrDown} {
		if err := (state{phase: phase}).err(); !errors.Is(err, want) {
			t.Errorf("phase %d: got %v, want %v", phase, err, want)
		}
	}
}
