package redislimit_test

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/limittest"
	"petcat/internal/ratelimit"
	"petcat/internal/redislimit"
	"petcat/internal/redistest"
)

const (
	// benchAccounts are charged at random, so that no hash stays in a processor's
	// nearest cache.
	benchAccounts = 1_000
	// benchConnections are those over which the limiter sends: see connect.go.
	benchConnections = 4
)

// BenchmarkDecision has 64 decisions under way at once, first by the limiter and
// then by redis-benchmark, with one server.
//
// Alike are the server, the script with its keys and arguments, the number of
// accounts, that each is charged, and the decisions under way. The numbers that the
// script is given are in its text for redis-benchmark, which cannot send zero bytes
// and so has less to send. Pipelined, also the
// connections; the limiter's pipelines are as deep as its connections are loaded,
// those of redis-benchmark are always full, and wait until they have been answered
// to the end. Not alike: redis-benchmark is C, in one thread, throws the answers
// away and sends bytes that it has made beforehand; the limiter works out its
// arguments and the callers' headers, for which it takes of the same processors.
func BenchmarkDecision(b *testing.B) {
	server := redistest.Start(b)
	quota := petcat.Quota{PerMinute: petcat.MaxQuota, PerDay: petcat.MaxQuota}
	l, err := redislimit.New(b.Context(), redislimit.Options{
		URL: petcat.NewSecret(server.URL()), Clock: clock.NewSystem(), Days: limittest.NewDays().Process(),
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.Close(context.WithoutCancel(b.Context())) })
	charge := func(account int64) ratelimit.Charge {
		return ratelimit.Charge{Account: petcat.AccountID(account), Key: petcat.KeyID(account), Quota: quota}
	}
	spend := func(account int64) {
		if _, err := l.Spend(b.Context(), charge(account)); err != nil {
			b.Error(err)
		}
	}
	// The first charge of a day leases a block for the account; the accounts of
	// redis-benchmark, which writes numbers in its own way, are copies.
	for account := range int64(benchAccounts) {
		spend(account + 1)
		server.MustDo("COPY", fmt.Sprintf("petcat:{acct_%d}", account+1), fmt.Sprintf("petcat:{acct_%012d}", account), "REPLACE")
	}
	b.Run("petcat", func(b *testing.B) {
		b.SetParallelism(benchSenders / 2)
		var sender atomic.Int64
		before := scriptCalls(b, server)
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			// A step that has no factor in common with the number of accounts.
			for account := sender.Add(1) * 37; pb.Next(); account += 617 {
				spend(account%benchAccounts + 1)
			}
		})
		b.StopTimer()
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
		b.ReportMetric(float64(scriptCalls(b, server)-before)/float64(b.N), "calls/decision")
	})
	source, given := redislimit.SpendScript(l, charge(1))
	args := append([]string{
		"evalsha", server.MustDo("SCRIPT", "LOAD", source), "2", "petcat:{acct___rand_int__}", "petcat:{acct___rand_int__}:key_1",
	}, given...)
	for _, c := range []struct {
		name                  string
		connections, pipeline int
	}{
		{"redis-benchmark, pipelined", benchConnections, benchSenders / benchConnections},
		{"redis-benchmark, 64 connections", benchSenders, 1},
	} {
		b.Run(c.name, func(b *testing.B) {
			before := scriptCalls(b, server)
			rate := redisBenchmark(b, append([]string{
				"-p", strconv.Itoa(server.Port()), "-r", strconv.Itoa(benchAccounts), "-n", strconv.Itoa(max(b.N, 1_000)),
				"-c", strconv.Itoa(c.connections), "-P", strconv.Itoa(c.pipeline),
			}, args...))
			if made := scriptCalls(b, server) - before; made < int64(b.N) {
				b.Errorf("redis-benchmark had the script run %d times, not %d", made, b.N)
			}
			b.ReportMetric(rate, "decisions/s")
			b.ReportMetric(0, "ns/op")
		})
	}
	// What redis-benchmark had done must have been charges like ours: the copy knew
	// of one.
	used, err := minuteUsed(server, fmt.Sprintf("%012d", 7))
	if err != nil || used < 2 {
		b.Errorf("redis-benchmark charged nothing: %d, %v", used, err)
	}
}

// redisBenchmark runs redis-benchmark, and returns the requests per second.
func redisBenchmark(b *testing.B, args []string) float64 {
	b.Helper()
	var path string
	for _, name := range []string{"redis-benchmark", "valkey-benchmark"} {
		if found, err := exec.LookPath(name); err == nil && path == "" {
			path = found
		}
	}
	if path == "" {
		b.Skip("redis-benchmark is not installed")
	}
	out, err := exec.CommandContext(b.Context(), path, args...).Output()
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
	return rate
}

// scriptCalls returns how many scripts the server was asked to run, those of the
// node's beats among them. The limiter sends nothing else on a request's way.
func scriptCalls(tb testing.TB, server *redistest.Server) (calls int64) {
	tb.Helper()
	for line := range strings.Lines(server.MustDo("INFO", "commandstats")) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), ":calls=")
		if name != "cmdstat_evalsha" && name != "cmdstat_eval" {
			continue
		}
		number, _, _ := strings.Cut(rest, ",")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			tb.Fatalf("%q: %v", line, err)
		}
		calls += n
	}
	return calls
}
