package clusterlimit_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/clusterlimit"
	"petcat/internal/counters"
	"petcat/internal/limittest"
	"petcat/internal/pgcounters"
	"petcat/internal/pgtest"
	"petcat/internal/postgres"
	"petcat/internal/ratelimit"
	"petcat/internal/rediscounters"
	"petcat/internal/redistest"
)

// benchSenders is how many requests are under way at once.
const benchSenders = 64

// bench is a limiter on real counters.
type bench struct {
	*testing.B
	l *clusterlimit.Limiter
}

// startBench starts a limiter. The counters are to outlive it.
func startBench(b *testing.B, c counters.Counters) *bench {
	b.Helper()
	l := clusterlimit.New(b.Context(), clusterlimit.Options{Counters: c, Clock: clock.NewSystem(), Days: limittest.NewDays().Process()})
	b.Cleanup(func() { _ = l.Close(context.WithoutCancel(b.Context())) })
	return &bench{b, l}
}

// onRedis returns counters on a URL.
func onRedis(b *testing.B, url string) counters.Counters {
	b.Helper()
	c, err := rediscounters.New(b.Context(), rediscounters.Options{URL: petcat.NewSecret(url)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.Close)
	return c
}

// onPostgres returns counters in a PostgreSQL of their own.
func onPostgres(b *testing.B) counters.Counters {
	b.Helper()
	url := petcat.NewSecret(pgtest.New(b, pgtest.Options{}).Database(b))
	store, err := postgres.Open(b.Context(), postgres.Options{URL: url, Clock: clock.NewSystem()})
	if err != nil {
		b.Fatal(err)
	}
	if err := store.Close(); err != nil { // it has made the tables
		b.Fatal(err)
	}
	c, err := pgcounters.New(b.Context(), pgcounters.Options{URL: url})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.Close)
	return c
}

func (b *bench) spend(account int64) {
	d, err := b.l.Spend(b.Context(), ratelimit.Charge{
		Account: petcat.AccountID(account), Key: petcat.KeyID(account), Quota: petcat.Quota{PerMinute: petcat.MaxQuota, PerDay: petcat.MaxQuota},
	})
	if err != nil || d.Verdict != ratelimit.Admitted {
		b.Errorf("account %d: %+v, %v", account, d, err)
	}
}

// run has decisions made by many senders, each with its own way through the accounts.
// The rate is of those that the counters made: what a node decides by itself, where the
// machine lets a call wait for too long, costs less.
func (b *bench) run(next func(sender, n int64) (account int64)) (shared float64) {
	b.ReportAllocs()
	b.SetParallelism(benchSenders / 2)
	var sender atomic.Int64
	before := b.l.Stats()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		s := sender.Add(1)
		for n := int64(0); pb.Next(); n++ {
			b.spend(next(s, n))
		}
	})
	b.StopTimer()
	after := b.l.Stats()
	shared = float64(after.Shared - before.Shared)
	b.ReportMetric(shared/b.Elapsed().Seconds(), "decisions/s")
	b.ReportMetric(float64(after.Local-before.Local)/float64(b.N), "local/decision")
	return shared
}

// BenchmarkSpend measures decisions by servers on the same machine: of one sender
// after the other, and of many at once, for accounts of their own.
func BenchmarkSpend(b *testing.B) {
	for _, on := range []struct {
		name  string
		start func(*testing.B) counters.Counters
	}{
		{"Redis", func(b *testing.B) counters.Counters { b.Helper(); return onRedis(b, redistest.Start(b).URL()) }},
		{"PostgreSQL", onPostgres},
	} {
		b.Run(on.name, func(b *testing.B) {
			limiter := startBench(b, on.start(b))
			b.Run("one sender", func(b *testing.B) {
				one := bench{b, limiter.l}
				b.ReportAllocs()
				for b.Loop() {
					one.spend(1)
				}
			})
			b.Run(fmt.Sprintf("%d senders", benchSenders), func(b *testing.B) {
				many := bench{b, limiter.l}
				many.run(func(sender, _ int64) int64 { return sender })
			})
		})
	}
}
