package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// report is the results of a run.
type report struct {
	rows      []row
	latencies []latency
}

// row is one row of the results table.
type row struct {
	what      string
	measured  float64 // median of the rounds
	unit      string
	spread    float64 // of the rounds' ratios: the widest distance to their median, as a part of it
	yardstick string  // if "", the bound applies to the measured value
	than      float64 // median of the yardstick
	ratio     float64
	bound     bound
	failed    bool
}

// bound is what a row must meet, zero if it only informs.
type bound struct {
	words string // "at least" or "at most"
	value float64
}

func atLeast(value float64) bound { return bound{"at least", value} }
func atMost(value float64) bound  { return bound{"at most", value} }

// compare adds a row whose ratio must meet a bound. The ratio is the median of the rounds'
// ratios, so that changes on the machine between rounds cancel out.
func (r *report) compare(ours series, yardstick string, theirs series, b bound) {
	ratios := make([]float64, len(ours.values))
	for i := range ratios {
		ratios[i] = ours.values[i] / theirs.values[i]
	}
	ratio := median(ratios)
	r.rows = append(r.rows, row{
		what:      ours.name,
		measured:  median(ours.values),
		unit:      ours.unit,
		spread:    max(slices.Max(ratios)-ratio, ratio-slices.Min(ratios)) / ratio,
		yardstick: yardstick,
		than:      median(theirs.values),
		ratio:     ratio,
		bound:     b,
	})
}

// value adds a row whose value must meet a bound.
func (r *report) value(what, unit string, value float64, b bound) {
	r.rows = append(r.rows, row{what: what, unit: unit, measured: value, bound: b})
}

// met is the last column.
func (r row) met() string {
	value := r.measured
	if r.yardstick != "" {
		value = r.ratio
	}
	switch {
	case r.failed:
		return "failed"
	case r.bound == (bound{}):
		return ""
	case r.bound.words == "at most" && value <= r.bound.value, r.bound.words == "at least" && value >= r.bound.value:
		return "yes"
	}
	return "no" // also for NaN
}

// median returns the median of the values, 0 for none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// format formats a number with three significant digits and thousands separators.
func format(value float64, unit string) string {
	decimals := 0
	switch {
	case value == float64(int64(value)):
	case value < 1:
		decimals = 3
	case value < 10:
		decimals = 2
	case value < 100:
		decimals = 1
	}
	if unit != "" && unit != "/s" {
		unit = " " + unit
	}
	return message.NewPrinter(language.English).Sprintf("%.*f", decimals, value) + unit
}

// table returns the rows as a Markdown table.
func (r report) table() string {
	lines := [][]string{{"what", "measured", "yardstick", "ratio", "spread", "bound", "met"}}
	for _, row := range r.rows {
		line := []string{row.what, "", "", "", "", "", row.met()}
		if !row.failed {
			line[1] = format(row.measured, row.unit)
		}
		if row.bound != (bound{}) {
			line[5] = fmt.Sprintf("%s %g", row.bound.words, row.bound.value)
		}
		if row.yardstick != "" {
			line[2] = row.yardstick + " " + format(row.than, row.unit)
			line[3], line[4] = fmt.Sprintf("%.3g", row.ratio), fmt.Sprintf("%.0f %%", 100*row.spread)
		}
		lines = append(lines, line)
	}
	return markdown(lines)
}

// latencyTable returns the latencies as a Markdown table.
func (r report) latencyTable() string {
	if len(r.latencies) == 0 {
		return ""
	}
	lines := [][]string{{
		"what", "protocol", "highest rate", "the loader's", "of it", "rate", "p50", "p99", "p99.9", "failed", "CPU a request",
	}}
	for _, l := range r.latencies {
		lines = append(lines, []string{
			l.name(),
			l.protocol.name,
			format(l.highest, "/s"),
			format(l.ceiling, "/s"),
			fmt.Sprintf("%.0f %%", 100*l.share),
			format(l.Rate, "/s"),
			format(milliseconds(l.P50), "ms"),
			format(milliseconds(l.P99), "ms"),
			format(milliseconds(l.P999), "ms"),
			strconv.Itoa(l.Failed),
			format(float64(l.cpu.Nanoseconds())/1e3, "µs"),
		})
	}
	return markdown(lines)
}

// markdown formats a Markdown table with aligned columns, so that its source is readable.
func markdown(lines [][]string) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 0, ' ', 0)
	for _, line := range slices.Insert(lines, 1, slices.Repeat([]string{"---"}, len(lines[0]))) {
		_, _ = fmt.Fprintf(w, "| %s\t |\n", strings.Join(line, "\t | "))
	}
	_ = w.Flush() // writing to a strings.Builder cannot fail
	return out.String()
}

// about describes the measured program, the machine and the method.
func (b *bench) about(ctx context.Context) string {
	find := func(file, pattern string) string {
		text, _ := os.ReadFile(file) // empty if it cannot be read
		if found := regexp.MustCompile(pattern).FindSubmatch(text); found != nil {
			return string(found[1])
		}
		return "unknown"
	}
	programs, _ := postgresPrograms() // prepare has checked it
	version, _ := exec.CommandContext(ctx, filepath.Join(programs, "postgres"), "--version").Output()
	disk, _ := exec.CommandContext(ctx, "stat", "--file-system", "--format=%T", b.work).Output()
	text := fmt.Sprintf("Revision %s, %s, %s, PocketBase %s. "+
		"Machine: %s, %d cores, kernel %s, databases on %s. %d rounds of %s, in turns; medians.",
		b.revision, runtime.Version(), strings.TrimSpace(string(version)),
		find("pocketbase/go.mod", `pocketbase/pocketbase (v\S+)`),
		find("/proc/cpuinfo", `model name\s*: (.*)`), runtime.NumCPU(),
		find("/proc/sys/kernel/osrelease", `(\S+)`), strings.TrimSpace(string(disk)), b.rounds, b.duration)
	if b.quick {
		text += " This was a quick run; its numbers are noise."
	}
	return text
}

// write writes the results of the day and the plots.
func (b *bench) write(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // world-readable
		return err
	}
	date := time.Now().UTC().Format(time.DateOnly)
	page := fmt.Sprintf("# Benchmarks of %s\n\n%s\n\n## Figures\n\n%s", date, b.about(ctx), b.report.table())
	if table := b.report.latencyTable(); table != "" {
		page += fmt.Sprintf("\n## Latency\n\nLoader on cores %s, servers on cores %s; %s for each rate.\n\n%s\n%s",
			b.halves[0], b.halves[1], latencyTime(b.quick), table, b.report.plotLinks())
	}
	file := filepath.Join(dir, date+".md")
	say("writing %s and its plots", file)
	return errors.Join(os.WriteFile(file, []byte(page), 0o644), b.report.draw(dir)) //nolint:gosec // world-readable
}
