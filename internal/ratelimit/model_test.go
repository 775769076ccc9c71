package ratelimit_test

import (
	"os"
	"strconv"
	"testing"
	"testing/synctest"

	"petcat"
	"petcat/internal/limittest"
	"petcat/internal/ratelimit"
	"petcat/internal/stalltest"
)

// TestModel compares the limiter with the naive model over a million steps, or
// fewer under the race detector, which makes each of them ten times as slow.
// PETCAT_MODEL_STEPS sets the number of steps in each of the three modes.
func TestModel(t *testing.T) {
	t.Parallel()
	steps := 340_000
	if stalltest.Race {
		steps = 40_000
	}
	if s := os.Getenv("PETCAT_MODEL_STEPS"); s != "" {
		var err error
		if steps, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	for _, mode := range []petcat.BanMode{petcat.EnforceBans, petcat.ShadowBans, petcat.BansOff} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			limittest.RunModel(t, startMemory, limittest.Model{
				Steps: steps,
				Bans:  mode,
				Sweep: func(l ratelimit.Limiter) { l.(*ratelimit.Memory).Sweep() },
				// In a bubble a request waits for the store alone, however busy the
				// machine is, and one that would wait for nothing fails at once.
				Within: synctest.Test,
			})
		})
	}
}
