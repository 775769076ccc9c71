package store

import (
	"sync"
	"sync/atomic"
	"testing"
)

func TestOneOfManyTakesAClaim(t *testing.T) {
	var s claims
	a, b := claim{account: 1, key: "a"}, claim{account: 2, key: "a"}
	for round := range 3 {
		var all sync.WaitGroup
		var taken atomic.Int64
		for range 16 {
			all.Go(func() {
				if s.take(a) {
					taken.Add(1)
				}
			})
		}
		all.Wait()
		if taken.Load() != 1 {
			t.Errorf("round %d: %d took the same claim", round, taken.Load())
		}
		if !s.take(b) {
			t.Errorf("round %d: another account's claim was held", round)
		}
		s.drop(a)
		s.drop(b)
	}
}
