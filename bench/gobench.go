package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"petcat/bench/report"
)

// The benchmarks of internal/ratelimit that the table shows.
const (
	decisionBenchmark = "BenchmarkSpend"
	accountsBenchmark = "BenchmarkMillionAccounts"
)

// limiter runs the Go benchmarks of a limiter's decision.
func (s *suite) limiter(ctx context.Context, group string) error {
	decision, err := s.goBench(ctx, "./internal/ratelimit", "^"+decisionBenchmark+"$", s.duration.String(), s.rounds)
	if err != nil {
		return err
	}
	accounts, err := s.goBench(ctx, "./internal/ratelimit", "^"+accountsBenchmark+"$", "1x", 1)
	if err != nil {
		return err
	}
	times := decision[metricKey{decisionBenchmark, "ns/op"}]
	for i := range times {
		times[i] /= 1000
	}
	const what = "a limiter's decision in memory"
	s.add(
		report.Measure(group, what, "µs", times, report.AtMost(0.5)),
		report.Measure(group, what+", allocations", "", decision[metricKey{decisionBenchmark, "allocs/op"}], report.AtMost(5)),
		report.Measure(group, "memory of each of 1,000,000 accounts", "B", accounts[metricKey{accountsBenchmark, "B/account"}], report.AtMost(300)),
	)
	return nil
}

// metricKey names a number that a Go benchmark prints.
type metricKey struct{ benchmark, unit string }

func (s *suite) goBench(ctx context.Context, pkg, pattern, benchtime string, count int) (map[metricKey][]float64, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", pattern, "-benchmem",
		"-benchtime", benchtime, "-count", strconv.Itoa(count), pkg)
	cmd.Dir = filepath.Clean(s.root)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("go test -bench %s %s: %w: %s", pattern, pkg, err, out)
	}
	return parseGoBench(string(out)), nil
}

// parseGoBench reads lines such as
// BenchmarkX/y-2   1000   12.3 ns/op   0 B/op.
func parseGoBench(output string) map[metricKey][]float64 {
	found := map[metricKey][]float64{}
	for line := range strings.Lines(output) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name := fields[0]
		if i := strings.LastIndexByte(name, '-'); i > 0 {
			if _, err := strconv.Atoi(name[i+1:]); err == nil {
				name = name[:i]
			}
		}
		for i := 2; i+1 < len(fields); i += 2 {
			if value, err := strconv.ParseFloat(fields[i], 64); err == nil {
				key := metricKey{name, fields[i+1]}
				found[key] = append(found[key], value)
			}
		}
	}
	return found
}
