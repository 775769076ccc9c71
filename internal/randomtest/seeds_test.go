package randomtest

import (
	"slices"
	"testing"
)

func TestSeedsAreKept(t *testing.T) {
	t.Chdir(t.TempDir())
	if kept := Kept(t); kept != nil {
		t.Errorf("before anything failed: %v", kept)
	}
	for _, seed := range []uint64{7, 1<<64 - 1, 7} {
		Keep(t, seed)
	}
	if kept := Kept(t); !slices.Equal(kept, []uint64{7, 1<<64 - 1}) {
		t.Errorf("kept %v", kept)
	}
	t.Run("of another test", func(t *testing.T) {
		if kept := Kept(t); kept != nil {
			t.Errorf("kept %v", kept)
		}
	})
}

// Those that are kept come first, and each run has a fresh one.
func TestRun(t *testing.T) {
	t.Chdir(t.TempDir())
	Keep(t, 7)
	var first, second []uint64
	Run(t, func(_ *testing.T, seed uint64) { first = append(first, seed) })
	Run(t, func(_ *testing.T, seed uint64) { second = append(second, seed) })
	if len(first) != 2 || len(second) != 2 || first[0] != 7 || second[0] != 7 || first[1] == second[1] {
		t.Errorf("the seeds were %v and %v", first, second)
	}
	if kept := Kept(t); len(kept) != 1 {
		t.Errorf("kept %v, and nothing failed", kept)
	}
}
