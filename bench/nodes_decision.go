package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"petcat/bench/report"
)

// The benchmarks of internal/clusterlimit that the table shows. Each has 64
// decisions under way at once, for 1,000 accounts.
const (
	redisDecision    = "BenchmarkDecision/petcat"
	redisPipelined   = "BenchmarkDecision/redis-benchmark,_pipelined"
	redisOneByOne    = "BenchmarkDecision/redis-benchmark,_64_connections"
	redisLarge       = "BenchmarkDecision/redis-benchmark,_calls_as_large"
	databaseDecision = "BenchmarkDecisionElsewhere/PostgreSQL/petcat"
	shardsDecision   = "BenchmarkDecisionElsewhere/three_shards/petcat"
)

// nodesDecision compares the limiter's decisions by Redis with what
// redis-benchmark makes of the same script, and shows those by PostgreSQL and by a
// cluster. All are internal to the limiter, so the benchmark is there; each round
// starts servers of its own.
func (s *suite) nodesDecision(ctx context.Context, group string) error {
	const (
		what      = "several nodes: one limit decision"
		pipelined = "redis-benchmark, pipelined as deep"
		single    = "redis-benchmark, 64 connections"
		large     = "redis-benchmark, in calls as large"
	)
	found, err := s.decisions(ctx)
	if err != nil {
		return err
	}
	rates := func(name string) []float64 { return found[metricKey{name, "decisions/s"}] }
	against := func(text, name string) report.Column { return report.Column{Name: text, Values: rates(name)} }
	part := func(text, name, unit string, figure report.Figure) report.Row {
		return report.Measure(group, what+text, "", found[metricKey{name, unit}], figure)
	}
	const locally = ", part that the node decided by itself"
	redis := report.Column{Name: "by one Redis", Values: rates(redisDecision)}
	s.add(
		report.Compare(group, what, "/s", rates(redisDecision), against(pipelined, redisPipelined), report.AtLeast(1)),
		report.Compare(group, what, "/s", rates(redisDecision), against(single, redisOneByOne), report.AtLeast(1)),
		report.Compare(group, what, "/s", rates(redisDecision), against(large, redisLarge), report.Figure{}),
		part(", scripts that Redis was asked to run", redisDecision, "calls/decision", report.AtMost(1)),
		part(locally, redisDecision, "local/decision", report.AtMost(0.02)),
		report.Compare(group, what+", PostgreSQL alone", "/s", rates(databaseDecision), redis, report.Figure{}),
		part(", PostgreSQL alone"+locally, databaseDecision, "local/decision", report.AtMost(0.02)),
		report.Compare(group, what+", three shards", "/s", rates(shardsDecision), redis, report.Figure{}),
		part(", three shards, scripts that Redis was asked to run", shardsDecision, "calls/decision", report.Figure{}),
		part(", three shards"+locally, shardsDecision, "local/decision", report.AtMost(0.02)),
	)
	return nil
}

// decisions runs the limiter's benchmarks, each once in a round.
func (s *suite) decisions(ctx context.Context) (map[metricKey][]float64, error) {
	const pkg = "internal/clusterlimit"
	program := filepath.Join(s.work, "clusterlimit.test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-o", program, "./"+pkg)
	build.Dir = s.root
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go test -c ./%s: %w: %s", pkg, err, out)
	}
	all := map[metricKey][]float64{}
	for round := range s.rounds {
		cmd := exec.CommandContext(ctx, program, "-test.run", "^$", "-test.bench", "^BenchmarkDecision(Elsewhere)?$", "-test.benchtime", s.duration.String())
		cmd.Dir = filepath.Join(s.root, pkg) // it reads the script
		cmd.Env = append(os.Environ(), "PETCAT_TEST_REQUIRE=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("BenchmarkDecision: %w: %s", err, out)
		}
		for key, values := range parseGoBench(string(out)) {
			all[key] = append(all[key], values...)
		}
		for _, name := range []string{redisDecision, redisPipelined, redisOneByOne, redisLarge, databaseDecision, shardsDecision} {
			rates := all[metricKey{name, "decisions/s"}]
			if len(rates) != round+1 {
				return nil, fmt.Errorf("%s printed no rate: %s", name, out)
			}
			s.say("   round %d of %d, %-50s %12s", round+1, s.rounds, name, report.Format(rates[round], "/s"))
		}
	}
	return all, nil
}
