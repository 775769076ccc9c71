package clusterlimit_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"petcat"
	"petcat/internal/clusterlimit"
	"petcat/internal/redistest"
)

const (
	// benchAccounts are charged at random, so that no count stays in a processor's
	// nearest cache.
	benchAccounts = 1_000
	// benchConnections are those over which redis-benchmark sends its pipelines.
	benchConnections = 4
	// benchInCall is how many decisions share a call of the limiter's when so many are
	// under way: two calls are, and the rest waits for the next.
	benchInCall = benchSenders / 2
)

// BenchmarkDecision has 64 decisions under way at once, first by the limiter and
// then by redis-benchmark, with one server.
//
// Alike are the server, the script with its keys and arguments, the number of
// accounts, that each is charged, and the decisions under way. The arguments are in
// the script's text for redis-benchmark, which cannot send zero bytes and so has less
// to send. Not alike: redis-benchmark is C, in one thread, throws the answers away and
// sends bytes that it has made beforehand; the limiter works out its arguments and the
// callers' headers, for which it takes of the same processors. In turn the limiter
// decides many requests in a call, which pipelines of single charges do not: what that
// brings shows where redis-benchmark is given calls of the same size.
func BenchmarkDecision(b *testing.B) {
	server := redistest.Start(b)
	limiter := startBench(b, onRedis(b, server.URL()))
	limiter.each()
	b.Run("petcat", func(b *testing.B) { decisions(b, limiter.l, server) })

	script := scriptFor(b, server)
	for _, c := range []struct {
		name                          string
		connections, pipeline, inCall int
	}{
		{"redis-benchmark, pipelined", benchConnections, benchSenders / benchConnections, 1},
		{"redis-benchmark, 64 connections", benchSenders, 1, 1},
		{"redis-benchmark, calls as large", benchSenders / benchInCall, 1, benchInCall},
	} {
		b.Run(c.name, func(b *testing.B) {
			before := scriptCalls(b, server)
			calls := max(b.N, benchAccounts)/c.inCall + 1
			rate := redisBenchmark(b, append([]string{
				"-p", strconv.Itoa(server.Port()), "-r", strconv.Itoa(benchAccounts), "-n", strconv.Itoa(calls),
				"-c", strconv.Itoa(c.connections), "-P", strconv.Itoa(c.pipeline),
			}, script.charge(b, server, c.inCall)...))
			if made := scriptCalls(b, server) - before; made < int64(calls) {
				b.Errorf("redis-benchmark had the script run %d times, not %d", made, calls)
			}
			b.ReportMetric(rate*float64(c.inCall), "decisions/s")
			b.ReportMetric(0, "ns/op")
		})
	}
	script.wantCharged(b, server)
}

// BenchmarkDecisionElsewhere has 64 decisions under way at once with other counters.
func BenchmarkDecisionElsewhere(b *testing.B) {
	b.Run("PostgreSQL", func(b *testing.B) {
		limiter := startBench(b, onPostgres(b))
		limiter.each()
		b.Run("petcat", func(b *testing.B) { decisions(b, limiter.l) })
	})
	b.Run("three shards", func(b *testing.B) {
		c := redistest.StartCluster(b)
		limiter := startBench(b, onRedis(b, c.URL()))
		limiter.each()
		b.Run("petcat", func(b *testing.B) { decisions(b, limiter.l, c.Servers...) })
	})
}

// each charges each account: the first charge of a day leases a block for it.
func (b *bench) each() {
	for account := range int64(benchAccounts) {
		b.spend(account + 1)
	}
}

// decisions measures decisions, and counts the scripts that servers were asked to run.
func decisions(b *testing.B, l *clusterlimit.Limiter, servers ...*redistest.Server) {
	b.Helper()
	limiter := bench{b, l}
	before := scriptCalls(b, servers...)
	// A step that has no factor in common with the number of accounts.
	shared := limiter.run(func(sender, n int64) int64 { return (sender*37+n*617)%benchAccounts + 1 })
	if len(servers) > 0 {
		b.ReportMetric(float64(scriptCalls(b, servers...)-before)/shared, "calls/decision")
	}
}

// benchScript is the limiter's script, with the epoch that holds.
type benchScript struct{ text, prefix, epoch string }

// scriptFor returns the script, and makes copies of the accounts for redis-benchmark,
// which writes numbers in its own way.
func scriptFor(b *testing.B, server *redistest.Server) benchScript {
	b.Helper()
	text, err := os.ReadFile(filepath.Join("..", "rediscounters", "counters.lua"))
	if err != nil {
		b.Fatal(err)
	}
	epochKey := server.MustDo("KEYS", "*:epoch")
	s := benchScript{text: string(text), prefix: strings.TrimSuffix(epochKey, "epoch"), epoch: server.MustDo("GET", epochKey)[:6]}
	for i := range benchAccounts {
		server.MustDo("COPY", s.prefix+strconv.Itoa(i+1), s.copyOf(i), "REPLACE")
	}
	return s
}

func (s benchScript) copyOf(account int) string { return fmt.Sprintf("%s%012d", s.prefix, account) }

// charge returns the command that charges so many accounts, with the arguments of
// package rediscounters in the script's text.
func (s benchScript) charge(b *testing.B, server *redistest.Server, accounts int) []string {
	b.Helper()
	// Requests, reported, minute, used of the day, for the minute, for the day, overdraw, series.
	one, err := binary.Append(nil, binary.LittleEndian, [8]int64{1, 0, 0, 0, petcat.MaxQuota, petcat.MaxQuota, 0, 1})
	if err != nil {
		b.Fatal(err)
	}
	first, rest, _ := strings.Cut(s.text, "\n")
	text := fmt.Sprintf("%s\nlocal ARGV = {'charge', %s, %s}\n%s", first,
		luaString(s.epoch+"fresh1"), luaString(strings.Repeat(string(one), accounts)), rest)
	keys := slices.Repeat([]string{s.prefix + "__rand_int__"}, accounts)
	return append([]string{"evalsha", server.MustDo("SCRIPT", "LOAD", text), strconv.Itoa(accounts + 1), s.prefix + "epoch"}, keys...)
}

func luaString(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, `\%03d`, s[i])
	}
	return "'" + b.String() + "'"
}

// wantCharged wants what redis-benchmark had done to have been charges: the copies
// knew of one or more, and were all charged alike.
func (s benchScript) wantCharged(b *testing.B, server *redistest.Server) {
	b.Helper()
	var all int64
	for i := range benchAccounts {
		if f := server.MustDo("GET", s.copyOf(i)); len(f) >= 16 {
			used := append([]byte(f[10:16]), 0, 0)
			all += int64(binary.LittleEndian.Uint64(used))
		}
	}
	if all <= benchAccounts {
		b.Errorf("redis-benchmark charged nothing: %d accounts have used %d", benchAccounts, all)
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

// scriptCalls returns how many scripts the servers were asked to run, the node's
// probes among them. The limiter sends nothing else on a request's way.
func scriptCalls(tb testing.TB, servers ...*redistest.Server) (calls int64) {
	tb.Helper()
	for _, server := range servers {
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
	}
	return calls
}
