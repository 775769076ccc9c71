package clock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/clocktest"
)

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

func TestSystem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.NewSystem()
		before := c.Read()
		if want := time.Now(); !before.Time().Equal(want) || before.Time().Location() != time.UTC {
			t.Errorf("the wall clock shows %s, want %s in UTC", before.Time(), want)
		}
		time.Sleep(90 * time.Second)
		after := c.Read()
		if got := after.Since(before); got != 90*time.Second {
			t.Errorf("%s passed, want 90s", got)
		}
		if got := after.Time().Sub(before.Time()); got != 90*time.Second {
			t.Errorf("the wall clock moved by %s, want 90s", got)
		}
		if got := time.Until(clock.Deadline(time.Minute)); got != time.Minute {
			t.Errorf("the deadline is %s away, want a minute", got)
		}
	})
}

func TestManual(t *testing.T) {
	c := clocktest.NewManual(noon)
	start := c.Read()
	if !start.Time().Equal(noon) || c.Read() != start {
		t.Errorf("the clock shows %s and %s, want noon twice", start.Time(), c.Read().Time())
	}
	for _, step := range []struct {
		name       string
		move       func()
		wall, mono time.Duration // since the start
	}{
		{"time passes", func() { c.Advance(time.Minute) }, time.Minute, time.Minute},
		{"the wall clock is set forward", func() { c.Step(time.Hour) }, time.Hour + time.Minute, time.Minute},
		{"the wall clock is set back", func() { c.Step(-2 * time.Hour) }, time.Minute - time.Hour, time.Minute},
		{"time passes again", func() { c.Advance(1) }, time.Minute - time.Hour + 1, time.Minute + 1},
	} {
		step.move()
		now := c.Read()
		if wall, mono := now.Time().Sub(noon), now.Since(start); wall != step.wall || mono != step.mono {
			t.Errorf("%s: wall %s, elapsed %s; want %s, %s", step.name, wall, mono, step.wall, step.mono)
		}
	}
}
