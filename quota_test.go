package petcat_test

import (
	"math"
	"testing"

	"github.com/petcat-api/petcat"
)

// TestEverySecondLiesInOneWindow also tests times before the epoch and in the far future.
func TestEverySecondLiesInOneWindow(t *testing.T) {
	for _, w := range []petcat.Window{petcat.Minute, petcat.Day} {
		for _, around := range []int64{0, noon.Unix(), -noon.Unix(), math.MaxInt64 / 4, math.MinInt64 / 4} {
			for unix := around - 90_000; unix < around+90_000; unix += 7 {
				i := w.Index(unix)
				begin, end := w.Reset(i-1), w.Reset(i)
				if unix < begin || unix >= end || end-begin != w.Seconds() || w.Index(begin) != i ||
					w.Index(end) != i+1 {
					t.Fatalf("second %d is in the %s from %d to %d", unix, w, begin, end)
				}
			}
		}
	}
}
