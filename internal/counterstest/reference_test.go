package counterstest_test

import (
	"sync/atomic"
	"testing"
	"time"

	"petcat/internal/counters"
	"petcat/internal/counterstest"
)

func TestReference(t *testing.T) {
	t.Parallel()
	for name, partitions := range map[string]int{"one partition": 1, "three partitions": 3, "64 partitions": 64} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			counterstest.Run(t, func(*testing.T) counterstest.Setup {
				var now atomic.Int64
				now.Store(time.Date(2026, 3, 10, 23, 59, 59, 0, time.UTC).UnixNano())
				r := counterstest.NewReference(partitions, now.Load)
				return counterstest.Setup{
					Nodes: [2]counters.Counters{r, r},
					Step:  func(by time.Duration) { now.Add(int64(by)) },
					Empty: r.Empty,
					Copy:  r.Copy,
				}
			}, 10_000)
		})
	}
}
