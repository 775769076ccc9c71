package redislimit_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/limittest"
	"petcat/internal/ratelimit"
	"petcat/internal/redislimit"
	"petcat/internal/redistest"
)

// benchSenders is how many requests are under way at once.
const benchSenders = 64

// BenchmarkSpend measures decisions by a server on the same machine: of one
// sender after the other, and of many at once, for accounts of their own.
func BenchmarkSpend(b *testing.B) {
	server := redistest.Start(b)
	quota := petcat.Quota{PerMinute: petcat.MaxQuota, PerDay: petcat.MaxQuota}
	l, err := redislimit.New(b.Context(), redislimit.Options{
		URL: petcat.NewSecret(server.URL()), Clock: clock.NewSystem(), Days: limittest.NewDays().Process(),
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.Close(context.WithoutCancel(b.Context())) })
	spend := func(account int64) {
		if _, err := l.Spend(b.Context(), ratelimit.Charge{Account: petcat.AccountID(account), Key: petcat.KeyID(account), Quota: quota}); err != nil {
			b.Error(err)
		}
	}
	b.Run("one sender", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			spend(1)
		}
	})
	b.Run(fmt.Sprintf("%d senders", benchSenders), func(b *testing.B) {
		b.ReportAllocs()
		b.SetParallelism(benchSenders / 2)
		var sender atomic.Int64
		b.RunParallel(func(pb *testing.PB) {
			account := sender.Add(1)
			for pb.Next() {
				spend(account)
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
	})
}
