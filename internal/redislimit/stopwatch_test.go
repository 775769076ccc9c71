package redislimit

import (
	"sync"
	"testing"
	"time"

	"petcat/internal/clock"
)

func TestStopwatchSkipsPauses(t *testing.T) {
	source := clock.NewManual(time.Unix(1_800_000_000, 0))
	s := newStopwatch(source, 50*time.Millisecond)
	begin := s.Read()
	want := func(what string, elapsed time.Duration) {
		t.Helper()
		if got := s.Read().Since(begin); got != elapsed {
			t.Errorf("%s: %s, want %s", what, got, elapsed)
		}
	}
	for range 3 { // looks in time
		source.Advance(10 * time.Millisecond)
		s.Read()
	}
	want("without a pause", 30*time.Millisecond)
	source.Advance(25 * time.Millisecond)
	want("with a look that was late", 55*time.Millisecond)
	source.Advance(26 * time.Millisecond)
	want("with a pause", 65*time.Millisecond)
	source.Advance(time.Hour)
	want("with a long one", 75*time.Millisecond)
	source.Advance(time.Millisecond)
	want("after that", 76*time.Millisecond)
	if wall := s.Read().Wall; wall != source.Read().Wall {
		t.Errorf("the wall clock shows %d, want the source's %d", wall, source.Read().Wall)
	}
}

// Whoever looks first after a pause: nobody sees it.
func TestStopwatchSkipsPausesForAll(t *testing.T) {
	source := clock.NewManual(time.Unix(1_800_000_000, 0))
	s := newStopwatch(source, 50*time.Millisecond)
	for range 1_000 {
		begin := s.Read()
		source.Advance(time.Second)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if got := s.Read().Since(begin); got > 10*time.Millisecond {
					t.Errorf("%s passed, want a pause to count as 10 ms", got)
				}
			})
		}
		all.Wait()
	}
}
