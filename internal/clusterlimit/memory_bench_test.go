package clusterlimit

import (
	"fmt"
	"runtime"
	"testing"

	"petcat"
)

// BenchmarkAccounts reports what each of so many accounts takes in a node's memory.
func BenchmarkAccounts(b *testing.B) {
	for _, count := range []int{1_000_000, 10_000_000} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			for b.Loop() {
				var known accounts
				before := heap()
				for id := range count {
					known.with(petcat.AccountID(id+1), func(a *account) { a.minuteKnown = true })
				}
				b.ReportMetric(float64(heap()-before)/float64(count), "B/account")
				runtime.KeepAlive(&known)
			}
		})
	}
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
