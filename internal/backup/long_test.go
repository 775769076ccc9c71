//go:build long

package backup

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"
)

// TestFlippedBitsAtRandom is [TestFlippedBits] with a thousand random places.
func TestFlippedBitsAtRandom(t *testing.T) {
	path, _ := take(t, filled(t, 300))
	good, err := os.ReadFile(path)
	must(t, err)
	want, err := dump(t, path)
	must(t, err)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	altered := 0
	for range 1000 {
		if wantNamed(t, good, want, random.IntN(len(good)*8)) {
			altered++
		}
	}
	t.Logf("%d of 1000 flipped bits altered a row or the file, and each was found", altered)
}
