package clusterlimit

import (
	"testing"
	"time"

	"petcat/internal/clock"
)

// TestCountersClock: what an answer tells of the time, by how long it took.
func TestCountersClock(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		told time.Duration // after noon, when it was a minute after noon
		took time.Duration
		want time.Duration
	}{
		"in time":                               {time.Minute, 0, time.Minute},
		"a late answer":                         {time.Minute - time.Second, time.Second, time.Minute},
		"set forward":                           {2 * time.Minute, 0, 2 * time.Minute},
		"set back":                              {0, 0, 0},
		"read after this process stood still":   {0, time.Minute, time.Minute},
		"set back by less than an answer takes": {time.Minute - time.Second, 0, time.Minute},
	} {
		source := clock.NewManual(noon)
		c := countersClock{source: source}
		at := func() int64 { return source.Read().Mono }
		c.observe(noon.UnixNano(), at())
		source.Advance(time.Minute)
		c.observe(noon.Add(tc.told).UnixNano(), at()-int64(tc.took))
		got := c.Read().Wall
		if got != noon.Add(tc.want).UnixNano() {
			t.Errorf("%s: the clock is %s after noon, want %s", name, time.Duration(got-noon.UnixNano()), tc.want)
		}
	}
}

// TestDrift: a time that was told goes before one that arrived later and tells less, unless
// this machine's clock may run so much faster, or theirs was set back.
func TestDrift(t *testing.T) {
	t.Parallel()
	const passed, drift = 1_000 * time.Second, time.Second
	noon := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		told time.Duration // more than has passed here
		took time.Duration
		want time.Duration // more than has passed here
	}{
		"more":                              {1, 0, 1},
		"as much":                           {0, 0, 0},
		"less, as a clock may drift":        {-drift + 1, 0, -drift + 1},
		"less than that":                    {-drift, 0, 0},
		"less, as an answer may be late":    {-drift - setBack + 1, 0, 0},
		"less than that, so it is set back": {-drift - setBack, 0, -drift - setBack},
		"more, and it took long":            {time.Minute, setBack - 1, time.Minute},
		"more, and it took too long":        {time.Minute, setBack, 0},
	} {
		source := clock.NewManual(noon)
		source.Advance(time.Hour)
		c := countersClock{source: source}
		c.observe(noon.UnixNano(), source.Read().Mono)
		source.Advance(passed)
		c.observe(noon.Add(passed+tc.told).UnixNano(), source.Read().Mono-int64(tc.took))
		if got := c.Read().Wall - noon.Add(passed).UnixNano(); got != int64(tc.want) {
			t.Errorf("%s: the clock shows %s more than has passed, want %s", name, time.Duration(got), tc.want)
		}
	}
}
