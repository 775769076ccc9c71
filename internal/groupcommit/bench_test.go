package groupcommit_test

import (
	"fmt"
	"sync"
	"testing"

	"petcat/internal/clock"
	"petcat/internal/groupcommit"
)

// BenchmarkSubmit measures what a group costs beside its transaction: handing
// over, gathering and answering.
func BenchmarkSubmit(b *testing.B) {
	for _, writers := range []int{1, 64, 256} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			c := groupcommit.New(groupcommit.Options[int]{Commit: func([]int) error { return nil }, Clock: clock.NewSystem()})
			defer c.Close()
			b.ReportAllocs()
			b.ResetTimer()
			var all sync.WaitGroup
			for w := range writers {
				all.Go(func() {
					for i := w; i < b.N; i += writers {
						if err := c.Submit(b.Context(), i); err != nil {
							b.Error(err)
						}
					}
				})
			}
			all.Wait()
		})
	}
}
