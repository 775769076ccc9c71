//go:build long

package e2e

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// asked returns a number that a variable of the environment asks for.
func asked(t testing.TB, variable string, otherwise float64) float64 {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseFloat(text, 64)
	must(t, err)
	return n
}

// seeded returns what chance decides by, and logs its seed: PETCAT_SEED, or a fresh one.
func seeded(t testing.TB) *rand.Rand {
	t.Helper()
	seed := uint64(asked(t, "PETCAT_SEED", float64(time.Now().UnixNano()>>20)))
	t.Logf("PETCAT_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}
