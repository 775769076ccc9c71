package claim

import (
	"sync"
	"sync/atomic"
	"testing"
)

func TestOneOfManyTakesAClaim(t *testing.T) {
	var s Set
	a, b := Claim{Account: 1, Key: "a"}, Claim{Account: 2, Key: "a"}
	for round := range 3 {
		var all sync.WaitGroup
		var taken atomic.Int64
		for range 16 {
			all.Go(func() {
				if s.Take(a) {
					taken.Add(1)
				}
			})
		}
		all.Wait()
		if taken.Load() != 1 {
			t.Errorf("round %d: %d took the same claim", round, taken.Load())
		}
		if !s.Take(b) {
			t.Errorf("round %d: another account's claim was held", round)
		}
		s.Drop(a)
		s.Drop(b)
	}
}
