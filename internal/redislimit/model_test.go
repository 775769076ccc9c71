package redislimit_test

import (
	"os"
	"strconv"
	"testing"

	"petcat"
	"petcat/internal/limittest"
	"petcat/internal/redistest"
)

// TestModel compares the limiter on a real server, in made-up time, with the
// naive model. PETCAT_MODEL_STEPS sets the number of steps in each mode.
func TestModel(t *testing.T) {
	steps := 40_000
	if s := os.Getenv("PETCAT_MODEL_STEPS"); s != "" {
		var err error
		if steps, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	t.Parallel()
	start := starter(redistest.Start(t))
	for i, mode := range []petcat.BanMode{petcat.EnforceBans, petcat.ShadowBans, petcat.BansOff} {
		t.Run(string(mode), func(t *testing.T) {
			seen := limittest.RunModel(t, start, limittest.Model{Steps: steps, Seed: uint64(i + 1), Bans: mode})
			t.Logf("%+v", seen)
			if seen.Admitted == 0 || seen.MinuteSpent == 0 || seen.DaySpent == 0 || seen.Crashes == 0 || seen.Restarts == 0 {
				t.Errorf("the history did not lead everywhere: %+v", seen)
			}
			if mode == petcat.EnforceBans && (seen.Banned == 0 || seen.Warned == 0 || seen.Lifts == 0 || seen.MaxLevel < petcat.MaxBanLevel) {
				t.Errorf("the history did not lead through all bans: %+v", seen)
			}
		})
	}
}
