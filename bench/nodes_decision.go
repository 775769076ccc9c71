package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"petcat/bench/report"
)

// The benchmarks of internal/redislimit that the table shows. Each has 64
// decisions under way at once, for 1,000 accounts.
const (
	redisDecision  = "BenchmarkDecision/petcat"
	redisPipelined = "BenchmarkDecision/redis-benchmark,_pipelined"
	redisOneByOne  = "BenchmarkDecision/redis-benchmark,_64_connections"
)

// nodesDecision compares the limiter's decisions by Redis with what
// redis-benchmark makes of the same script. Both are internal to the limiter, so
// the benchmark is there; each round starts a Redis for both.
func (s *suite) nodesDecision(ctx context.Context, group string) error {
	const (
		what      = "several nodes: one limit decision"
		pipelined = "redis-benchmark, as many connections, pipelined as deep"
		single    = "redis-benchmark, 64 connections"
	)
	atLeast, once := report.AtLeast(0.8), report.AtMost(1.01) // a beat of the node now and then is counted, too
	for _, name := range []string{"redis", "redis-benchmark"} {
		if absent := s.tools[name].absent; absent != "" {
			s.add(report.Missing(group, what, "redis-benchmark", atLeast.Text(), name+": "+absent))
			return nil
		}
	}
	program := filepath.Join(s.work, "redislimit.test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-o", program, "./internal/redislimit")
	build.Dir = s.root
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go test -c ./internal/redislimit: %w: %s", err, out)
	}
	rates, calls := map[string][]float64{}, []float64(nil)
	for round := range s.rounds {
		cmd := exec.CommandContext(ctx, program, "-test.run", "^$", "-test.bench", "^BenchmarkDecision$", "-test.benchtime", s.duration.String())
		cmd.Env = append(os.Environ(), "PETCAT_TEST_REQUIRE=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("BenchmarkDecision: %w: %s", err, out)
		}
		found := parseGoBench(string(out))
		for _, name := range []string{redisDecision, redisPipelined, redisOneByOne} {
			rates[name] = append(rates[name], found[metricKey{name, "decisions/s"}]...)
			if len(rates[name]) != round+1 {
				return fmt.Errorf("%s printed no rate: %s", name, out)
			}
			s.say("   round %d of %d, %-50s %12s", round+1, s.rounds, name, report.Format(rates[name][round], "/s"))
		}
		calls = append(calls, found[metricKey{redisDecision, "calls/decision"}]...)
	}
	s.add(
		report.Compare(group, what, "/s", rates[redisDecision], report.Column{Name: pipelined, Values: rates[redisPipelined]}, atLeast),
		report.Compare(group, what, "/s", rates[redisDecision], report.Column{Name: single, Values: rates[redisOneByOne]}, atLeast),
		report.Measure(group, what+", scripts that Redis was asked to run", "", calls, once),
	)
	return nil
}
