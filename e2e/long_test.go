//go:build long

package e2e

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// envNumber returns the number in an environment variable, or a default.
func envNumber(t testing.TB, variable string, otherwise float64) float64 {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseFloat(text, 64)
	must(t, err)
	return n
}

// seeded returns a random source, and logs its seed: PETCAT_SEED, or a new one.
func seeded(t testing.TB) *rand.Rand {
	t.Helper()
	seed := uint64(envNumber(t, "PETCAT_SEED", float64(time.Now().UnixNano()>>20)))
	t.Logf("PETCAT_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}
