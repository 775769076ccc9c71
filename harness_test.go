package petcat_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
)

// noon is the time at which the tests run.
var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// seeded returns a source of random bytes that is the same each time.
func seeded(seed byte) *rand.ChaCha8 { return rand.NewChaCha8([32]byte{seed}) }

func generated(t testing.TB, env petcat.Environment) petcat.GeneratedKey {
	t.Helper()
	g, err := petcat.GenerateKey(env, seeded(1))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// wantCode checks that err is an Error with a code, "" for no error.
func wantCode(t testing.TB, err error, code petcat.Code) {
	t.Helper()
	if got := petcat.CodeOf(err); got != code {
		t.Errorf("code %q, want %q; error %v", got, code, err)
	}
}
