package store

import (
	"sync"
	"sync/atomic"
	"testing"
)

func TestOneOfManyBegins(t *testing.T) {
	var f inFlight
	a, b := scopedKey{account: 1, key: "a"}, scopedKey{account: 2, key: "a"}
	for round := range 3 {
		var all sync.WaitGroup
		var begun atomic.Int64
		for range 16 {
			all.Go(func() {
				if f.begin(a) {
					begun.Add(1)
				}
			})
		}
		all.Wait()
		if begun.Load() != 1 {
			t.Errorf("round %d: %d began with the same key", round, begun.Load())
		}
		if !f.begin(b) {
			t.Errorf("round %d: another account's key was in flight", round)
		}
		f.end(a)
		f.end(b)
	}
}
