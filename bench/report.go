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
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// report is the results of a run.
type report struct {
	rows   []row
	series []series
}

// row is one line of the table.
type row struct {
	what, unit string
	measured   float64
	yardstick  string // if "", the figure applies to the measured value
	than       float64
	ratio      float64
	figure     figure
	met        string
}

// figure is the bound that a row must meet.
type figure struct {
	words string // "at least" or "at most"
	bound float64
}

func atLeast(bound float64) figure { return figure{"at least", bound} }
func atMost(bound float64) figure  { return figure{"at most", bound} }

// margin returns how far a value exceeds its figure, as a factor: 1 or more means met.
func (f figure) margin(value float64) float64 {
	if f.words == "at most" {
		return f.bound / max(value, f.bound/100)
	}
	return value / f.bound
}

func (f figure) met(value float64) string {
	if f.margin(value) >= 1 {
		return "yes"
	}
	return "no" // NaN is "no", too
}

// compare adds a row whose ratio must meet the figure. The ratio is the median of the rounds'
// ratios, so that changes on the machine between rounds cancel out.
func (r *report) compare(what string, ours series, yardstick string, theirs series, f figure) {
	ratios := make([]float64, len(ours.values))
	for i := range ratios {
		ratios[i] = ours.values[i] / theirs.values[i]
	}
	ratio := median(ratios)
	r.rows = append(r.rows, row{
		what, ours.unit, median(ours.values), yardstick, median(theirs.values),
		ratio, f, f.met(ratio),
	})
}

// value adds a row whose value must meet the figure.
func (r *report) value(what, unit string, value float64, f figure) {
	r.rows = append(r.rows, row{what: what, unit: unit, measured: value, figure: f, met: f.met(value)})
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

func (r report) table() [][]string {
	lines := [][]string{{"what", "measured", "yardstick", "ratio", "figure", "met"}}
	for _, row := range r.rows {
		line := []string{
			row.what,
			format(row.measured, row.unit),
			"",
			"",
			fmt.Sprintf("%s %g", row.figure.words, row.figure.bound),
			row.met,
		}
		switch {
		case row.figure.words == "": // its group failed
			line[1], line[4] = "", ""
		case row.yardstick != "":
			line[2], line[3] = row.yardstick+" "+format(row.than, row.unit), fmt.Sprintf("%.3g", row.ratio)
		default:
			line[4] += " " + row.unit
		}
		lines = append(lines, line)
	}
	return lines
}

// rounds returns a table of the results of each subject's rounds.
func (r report) rounds() [][]string {
	lines := [][]string{{"subject", "median", "rounds"}}
	for _, s := range r.series {
		rounds := strings.Trim(fmt.Sprintf("%.4g", s.values), "[]")
		lines = append(lines, []string{s.name, format(median(s.values), s.unit), rounds})
	}
	return lines
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
func (r report) write(dir, about string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // world-readable
		return err
	}
	date := time.Now().UTC().Format(time.DateOnly)
	page := fmt.Sprintf(
		"# Benchmarks of %s\n\n%s\n\n## Figures\n\n%s\n## Rounds\n\n%s",
		date, about, markdown(r.table()), markdown(r.rounds()))
	file := filepath.Join(dir, date+".md")
	say("writing %s and its plots", file)
	return errors.Join(os.WriteFile(file, []byte(page), 0o644), r.draw(dir)) //nolint:gosec // world-readable
}
