package clusterlimit

import (
	"testing"
	"time"

	"petcat/internal/clock"
)

// TestStopwatch: a time in which nobody looked is a pause if it is longer than half of the
// timeout. It counts as a fifth.
func TestStopwatch(t *testing.T) {
	t.Parallel()
	const (
		timeout = 40 * time.Millisecond
		pause   = timeout / 2
		every   = timeout / 5
		seldom  = every / 4 // a look that soon after the last is not taken note of
	)
	for name, tc := range map[string]struct {
		looks []time.Duration // each so long after the one before
		want  time.Duration   // in all
	}{
		"as long as a pause may be":       {[]time.Duration{pause}, pause},
		"a pause":                         {[]time.Duration{pause + 1}, every},
		"a long one":                      {[]time.Duration{time.Hour}, every},
		"two":                             {[]time.Duration{pause + 1, pause + 1}, 2 * every},
		"looks":                           {[]time.Duration{pause, pause, pause}, 3 * pause},
		"a look that is taken note of":    {[]time.Duration{seldom + 1, pause}, seldom + 1 + pause},
		"a look soon after, then a pause": {[]time.Duration{seldom, pause - seldom + 1}, every},
	} {
		source := clock.NewManual(time.Unix(0, 0))
		source.Advance(time.Hour)
		s := newStopwatch(source, timeout)
		began := s.Read()
		var got time.Duration
		for _, d := range tc.looks {
			source.Advance(d)
			got = s.Read().Since(began)
		}
		if got != tc.want {
			t.Errorf("%s: it counts %s, want %s", name, got, tc.want)
		}
	}
}

// TestPauseOnce: a pause is taken out once, however many have found it at the same time.
func TestPauseOnce(t *testing.T) {
	t.Parallel()
	source := clock.NewManual(time.Unix(0, 0))
	s := newStopwatch(source, 40*time.Millisecond)
	began := s.Read()
	source.Advance(time.Hour)
	for range 2 { // as when another was waiting for mu
		s.skip(source.Read().Mono)
	}
	if got := s.Read().Since(began); got != s.every {
		t.Errorf("it counts %s, want %s", got, s.every)
	}
	source.Advance(s.pause)
	s.skip(source.Read().Mono) // another has looked, and this is no pause any more
	if got := s.Read().Since(began); got != s.every+s.pause {
		t.Errorf("it counts %s, want %s", got, s.every+s.pause)
	}
}
