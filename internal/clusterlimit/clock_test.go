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
