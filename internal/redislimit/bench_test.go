package redislimit_test

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
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
// sender after the other, and of many at once, for accounts of their own. The
// last is what redis-benchmark reaches with the same script.
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
	b.Run("redis-benchmark", func(b *testing.B) {
		path, err := exec.LookPath("redis-benchmark")
		if err != nil {
			b.Skip("redis-benchmark is not installed")
		}
		spend(1)
		hash := redislimit.SpendHash()
		args := append([]string{
			"-p", strconv.Itoa(server.Port()), "-c", strconv.Itoa(benchSenders), "-n", strconv.Itoa(max(b.N, 1_000)),
			"evalsha", hash, "2", "petcat:{acct_1}", "petcat:{acct_1}:key_1",
		}, redislimit.SpendArgs(l, ratelimit.Charge{Account: 1, Key: 1, Quota: quota})...)
		out, err := exec.Command(path, args...).Output()
		if err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		m := regexp.MustCompile(`([0-9.]+) requests per second`).FindAllSubmatch(out, -1)
		if m == nil {
			b.Fatalf("no figure in:\n%s", out)
		}
		rate, err := strconv.ParseFloat(string(m[len(m)-1][1]), 64)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(rate, "decisions/s")
		b.ReportMetric(0, "ns/op")
	})
}
