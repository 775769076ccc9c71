package storetest

import (
	"fmt"
	"sync/atomic"
	"testing"

	"petcat"
)

// BenchmarkCreates measures creates by 1, 64 and 256 writers at once, with and without
// an idempotency key. Open opens an empty store, which it closes when b ends.
func BenchmarkCreates(b *testing.B, open func(*testing.B) Store) {
	b.Helper()
	name, description := "Dogs", "Domesticated descendants of the wolf, kept for company and for work"
	category, err := petcat.ParseNewCategory(&name, &description)
	if err != nil {
		b.Fatal(err)
	}
	for _, writers := range []int{1, 64, 256} {
		for _, keyed := range []bool{false, true} {
			b.Run(fmt.Sprintf("writers=%d/keyed=%v", writers, keyed), func(b *testing.B) {
				s := open(b)
				var n atomic.Int64
				b.SetParallelism((writers + 1) / 2)
				b.ReportAllocs()
				b.ResetTimer()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						c := petcat.CreateCategory{Account: 1, New: category}
						if keyed {
							c.IdempotencyKey = petcat.IdempotencyKey(fmt.Sprint(n.Add(1)))
						}
						if _, err := s.CreateCategory(b.Context(), c); err != nil {
							b.Error(err)
							return
						}
					}
				})
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "creates/s")
			})
		}
	}
}
