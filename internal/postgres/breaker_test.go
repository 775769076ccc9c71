package postgres

import (
	"errors"
	"testing"
	"time"

	"github.com/petcat-api/petcat/internal/clocktest"
)

func TestBreaker(t *testing.T) {
	away := errors.New("away")
	enter := func(b *breaker, _ *clocktest.Manual) { _ = b.enter() }
	fails := func(b *breaker, _ *clocktest.Manual) { b.failed(away) }
	fell := func(b *breaker, _ *clocktest.Manual) { b.failed(errors.New("an older failure")) }
	responds := func(b *breaker, _ *clocktest.Manual) { b.responded() }
	unknown := func(b *breaker, _ *clocktest.Manual) { b.unknown() }
	after := func(d time.Duration) func(*breaker, *clocktest.Manual) {
		return func(_ *breaker, c *clocktest.Manual) { c.Advance(d) }
	}
	type events = []func(*breaker, *clocktest.Manual)
	for name, c := range map[string]struct {
		events   events
		last     error // the last failure
		rejected error // of the next call
	}{
		"closed":                              {events{}, nil, nil},
		"closed, during a call":               {events{enter}, nil, nil},
		"closed, a response":                  {events{enter, responds}, nil, nil},
		"closed, an unknown result":           {events{enter, unknown}, nil, nil},
		"a failure":                           {events{enter, fails}, away, away},
		"a failure of another call":           {events{enter, enter, fell, fails}, away, away},
		"a response to another call":          {events{enter, enter, fails, responds}, nil, nil},
		"an unknown result of another call":   {events{enter, enter, fails, unknown}, away, away},
		"during the pause":                    {events{fails, after(pause - 1)}, away, away},
		"after the pause":                     {events{fails, after(pause)}, away, nil},
		"after a call during the pause":       {events{fails, enter, after(pause)}, away, nil},
		"another failure extends the pause":   {events{fails, after(pause - 1), fails, after(1)}, away, away},
		"during a trial":                      {events{fails, after(pause), enter}, away, away},
		"during a long trial":                 {events{fails, after(pause), enter, after(time.Hour)}, away, away},
		"a trial is responded":                {events{fails, after(pause), enter, responds}, nil, nil},
		"a trial fails":                       {events{fails, after(pause), enter, fails}, away, away},
		"the pause after a trial":             {events{fails, after(pause), enter, fails, after(pause)}, away, nil},
		"a trial's result is unknown":         {events{fails, after(pause), enter, unknown}, away, nil},
		"another trial after the unknown one": {events{fails, after(pause), enter, unknown, enter}, away, away},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktest.NewManual(time.Date(2027, 3, 4, 12, 0, 0, 0, time.UTC))
			b := &breaker{clock: clock}
			for _, event := range c.events {
				event(b, clock)
			}
			if got := b.err(); !errors.Is(got, c.last) {
				t.Errorf("the last failure is %v, want %v", got, c.last)
			}
			if got := b.rejects(); !errors.Is(got, c.rejected) {
				t.Errorf("rejects: %v, want %v", got, c.rejected)
			}
			if got := b.enter(); !errors.Is(got, c.rejected) {
				t.Errorf("enter: %v, want %v", got, c.rejected)
			}
		})
	}
}
