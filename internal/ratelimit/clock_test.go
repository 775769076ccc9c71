package ratelimit_test

import (
	"sync"
	"testing"
	"time"

	"petcat/internal/clock"
	"petcat/internal/ratelimit"
)

func TestClock(t *testing.T) {
	wall := clock.NewManual(noon)
	c := ratelimit.NewClock(wall)
	for _, tc := range []struct {
		name    string
		step    time.Duration // of the wall clock
		advance time.Duration // of both
		now     time.Duration // since noon
		ahead   time.Duration
	}{
		{name: "at the start"},
		{name: "time passes", advance: time.Second, now: time.Second},
		{name: "set forward", step: time.Hour, now: time.Hour + time.Second},
		{name: "set back", step: -10 * time.Minute, now: time.Hour + time.Second, ahead: 10 * time.Minute},
		{name: "time passes while ahead", advance: time.Minute, now: 61*time.Minute + time.Second, ahead: 10 * time.Minute},
		{name: "set forward by half of it", step: 5 * time.Minute, now: 61*time.Minute + time.Second, ahead: 5 * time.Minute},
		{name: "set forward past it", step: 6 * time.Minute, now: 62*time.Minute + time.Second},
		{name: "set to before the epoch", step: -100 * 365 * 24 * time.Hour, now: 62*time.Minute + time.Second, ahead: 100 * 365 * 24 * time.Hour},
	} {
		wall.Step(tc.step)
		wall.Advance(tc.advance)
		want(t, tc.name+": Now", time.Unix(0, c.Now()).Sub(noon), tc.now)
		want(t, tc.name+": Ahead", c.Ahead(), tc.ahead)
	}
}

// Goroutines that pass readings on to each other never see time fall.
func TestClockIsMonotonicAcrossGoroutines(t *testing.T) {
	c := ratelimit.NewClock(clock.NewSystem())
	var mu sync.Mutex
	var last int64 // guarded by mu
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20_000 {
				mu.Lock()
				now := c.Now()
				if now < last {
					t.Errorf("the clock went back by %d ns", last-now)
				}
				last = now
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}
