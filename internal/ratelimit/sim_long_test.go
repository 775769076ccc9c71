//go:build long

package ratelimit_test

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// TestSimulateMore runs PETCAT_SCHEDULES schedules (10,000 by default). The first seed is
// PETCAT_SEED (random by default), and is printed.
func TestSimulateMore(t *testing.T) {
	number := func(name string, otherwise uint64) uint64 {
		if n, err := strconv.ParseUint(os.Getenv(name), 10, 64); err == nil {
			return n
		}
		return otherwise
	}
	first, schedules := number("PETCAT_SEED", rand.Uint64()), number("PETCAT_SCHEDULES", 10_000)
	decided := 0
	for seed := first; seed < first+schedules && !t.Failed(); seed++ {
		decided += simulateOne(t, seed)
	}
	t.Logf("%d schedules from seed %d: %d requests, every promise kept", schedules, first, decided)
}
