package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

func verdictHead() []string {
	return []string{"what", "value", "yardstick", "ratio", "figure", "met"}
}

func detailHead() []string {
	return []string{"server and request", "categories", "connections", "answers/s", "p50", "p99", "CPU per answer", "peak memory"}
}

// Table returns the rows as plain text, for a terminal.
func (r Result) Table() string {
	return plain(verdictHead(), r.verdicts()) + "\n" + plain(detailHead(), r.details())
}

func (r Result) verdicts() [][]string {
	var lines [][]string
	for _, row := range r.Rows {
		lines = append(lines, row.cells())
	}
	return lines
}

// details returns the medians of each server's rounds.
func (r Result) details() [][]string {
	var lines [][]string
	for _, s := range r.Series() {
		categories := ""
		if s.Categories > 0 {
			categories = Format(float64(s.Categories), "")
			categories, _, _ = strings.Cut(categories, ".")
		}
		lines = append(lines, []string{
			s.Subject, categories, fmt.Sprint(s.Connections), Format(s.Rate, ""), duration(s.P50), duration(s.P99),
			duration(s.CPU), Format(s.PeakMemory, "MiB"),
		})
	}
	return lines
}

// duration writes microseconds.
func duration(micros float64) string {
	if micros >= 1000 {
		return Format(micros/1000, "ms")
	}
	return Format(micros, "µs")
}

// Series returns the medians of all samples that differ in the round alone, in
// the order in which they were measured.
func (r Result) Series() []Sample {
	type key struct {
		group, subject          string
		categories, connections int
	}
	var order []key
	rounds := map[key][]Sample{}
	for _, s := range r.Samples {
		k := key{s.Group, s.Subject, s.Categories, s.Connections}
		if rounds[k] == nil {
			order = append(order, k)
		}
		rounds[k] = append(rounds[k], s)
	}
	medians := make([]Sample, 0, len(order))
	for _, k := range order {
		m := rounds[k][0]
		m.Round = 0
		m.Rate = median(rounds[k], func(s Sample) float64 { return s.Rate })
		m.CPU = median(rounds[k], func(s Sample) float64 { return s.CPU })
		m.P50 = median(rounds[k], func(s Sample) float64 { return s.P50 })
		m.P99 = median(rounds[k], func(s Sample) float64 { return s.P99 })
		m.PeakMemory = rounds[k][len(rounds[k])-1].PeakMemory // it only grows
		medians = append(medians, m)
	}
	return medians
}

func median(samples []Sample, of func(Sample) float64) float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	return Median(values)
}

// plain sets a table in columns of equal width.
func plain(head []string, lines [][]string) string {
	widths := map[int]int{}
	for _, line := range append([][]string{head}, lines...) {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	last := slices.Max(append(slices.Collect(maps.Keys(widths)), 0))
	var out strings.Builder
	write := func(line []string) {
		var text strings.Builder
		for i, cell := range line {
			text.WriteString(cell)
			if i < last {
				text.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
			}
		}
		out.WriteString(strings.TrimRight(text.String(), " ") + "\n")
	}
	write(head)
	for _, line := range lines {
		write(line)
	}
	return out.String()
}

// Markdown returns the whole result as a page.
func (r Result) Markdown() string {
	var out strings.Builder
	fmt.Fprintf(&out, "# Benchmarks of %s\n\n", r.Date)
	if r.Quick {
		out.WriteString("This was a quick run: it shows that everything works, and its numbers are noise.\n\n")
	}
	fmt.Fprintf(&out, "Revision %s. %d rounds of %d s each, in turns; medians.\n\n", r.Revision, r.Settings.Rounds, r.Settings.Seconds)
	m := r.Machine
	fmt.Fprintf(&out, "- Processor: %s, %d cores\n- Memory: %s\n- System: %s, kernel %s\n- Disk: %s\n- Go: %s\n",
		m.CPU, m.Cores, Format(m.MemoryGiB, "GiB"), m.System, m.Kernel, m.FileSystem, m.Go)
	for _, p := range r.Programs {
		if p.Absent != "" {
			fmt.Fprintf(&out, "- %s: absent: %s\n", p.Name, p.Absent)
		} else {
			fmt.Fprintf(&out, "- %s: %s\n", p.Name, p.Version)
		}
	}
	out.WriteString("\n## Figures\n\n" + markdown(verdictHead(), r.verdicts()))
	out.WriteString("\n## All servers\n\n" + markdown(detailHead(), r.details()))
	return out.String()
}

func markdown(head []string, lines [][]string) string {
	var out strings.Builder
	escape := strings.NewReplacer("|", `\|`, "\n", " ")
	write := func(line []string) {
		out.WriteString("|")
		for _, cell := range line {
			out.WriteString(" " + escape.Replace(cell) + " |")
		}
		out.WriteString("\n")
	}
	write(head)
	out.WriteString(strings.Repeat("|---", len(head)) + "|\n")
	for _, line := range lines {
		write(line)
	}
	return out.String()
}
