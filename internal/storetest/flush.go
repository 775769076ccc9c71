package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/store"
)

// BenchmarkFlush measures the flush of the usage of 1,000 accounts with the last use of their keys,
// alternately without and with rows by key and operation, and reports the medians.
func BenchmarkFlush(b *testing.B, s *store.Store) {
	b.Helper()
	for _, operations := range []int{1, 3} {
		b.Run(fmt.Sprintf("operations=%d", operations), func(b *testing.B) {
			node := fmt.Sprint("node ", time.Now().UnixNano())
			var without, with []time.Duration
			number := int64(0)
			flush := func(first petcat.AccountID, operations int) time.Duration {
				number++
				batch := flushed(first, operations)
				batch.Node, batch.Number = node, number
				began := time.Now()
				if err := s.AddUsage(b.Context(), batch); err != nil {
					b.Fatal(err)
				}
				return time.Since(began)
			}
			for b.Loop() {
				without = append(without, flush(1, 0))
				with = append(with, flush(10_001, operations))
			}
			slices.Sort(without)
			slices.Sort(with)
			plain, detailed := without[len(without)/2], with[len(with)/2]
			b.ReportMetric(float64(plain.Microseconds()), "µs-without")
			b.ReportMetric(float64(detailed.Microseconds()), "µs-with")
			b.ReportMetric(plain.Seconds()/detailed.Seconds(), "speed")
		})
	}
}

// flushed returns a batch of 1,000 accounts with a number of operations each.
func flushed(first petcat.AccountID, operations int) petcat.UsageBatch {
	const accounts = 1_000
	hour := noon.Unix() / 3600
	b := petcat.UsageBatch{SeenAt: noon}
	for a := first; a < first+accounts; a++ {
		c := petcat.UsageCount{Account: a, Hour: hour, UsageCounts: petcat.UsageCounts{Requests: 6, Bytes: 1_000}}
		for i := range operations {
			operation := petcat.Operations()[i].ID
			d := petcat.UsageDetail{Key: petcat.KeyID(a), Operation: operation, Requests: int64(6 / operations)}
			c.Detail = append(c.Detail, d)
		}
		b.Counts = append(b.Counts, c)
		b.Keys = append(b.Keys, petcat.KeyUse{Key: petcat.KeyID(a), At: noon})
	}
	all := petcat.UsageCount{Hour: hour, UsageCounts: petcat.UsageCounts{Requests: 6 * accounts, Bytes: 1_000 * accounts}}
	b.Counts = append(b.Counts, all)
	return b
}
