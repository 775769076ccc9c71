package report

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"text/template"
)

// Table returns the rows as plain text, for a terminal.
func (r Result) Table() string {
	return plain(r.Verdicts()) + "\n" + plain(r.Details())
}

// Verdicts returns a line for each row, below the columns' names.
func (r Result) Verdicts() [][]string {
	lines := [][]string{{"what", "value", "yardstick", "ratio", "figure", "met"}}
	for _, row := range r.Rows {
		lines = append(lines, row.cells())
	}
	return lines
}

// Details returns the medians of each server's rounds, below the columns' names.
func (r Result) Details() [][]string {
	lines := [][]string{{"server and request", "categories", "connections", "answers/s", "p50", "p99", "CPU per answer", "peak memory"}}
	for _, s := range r.Series() {
		categories, name, connections := "", s.Subject, fmt.Sprint(s.Connections)
		if s.Categories > 0 {
			categories = Format(float64(s.Categories), "")
		}
		if s.Offered > 0 {
			name, connections = fmt.Sprintf("%s, %s offered", name, Format(s.Offered, "/s")), ""
		}
		lines = append(lines, []string{
			name, categories, connections, Format(s.Rate, ""), duration(s.P50), duration(s.P99),
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
	var order []Sample
	rounds := map[string][]Sample{}
	key := func(s Sample) string {
		return fmt.Sprint(s.Group, "/", s.Subject, "/", s.Categories, "/", s.Connections, "/", s.Offered)
	}
	for _, s := range r.Samples {
		if rounds[key(s)] == nil {
			order = append(order, s)
		}
		rounds[key(s)] = append(rounds[key(s)], s)
	}
	for i, s := range order {
		same := rounds[key(s)]
		order[i].Round = 0
		order[i].Rate = median(same, func(s Sample) float64 { return s.Rate })
		order[i].Refused = median(same, func(s Sample) float64 { return s.Refused })
		order[i].CPU = median(same, func(s Sample) float64 { return s.CPU })
		order[i].P50 = median(same, func(s Sample) float64 { return s.P50 })
		order[i].P99 = median(same, func(s Sample) float64 { return s.P99 })
		order[i].PeakMemory = same[len(same)-1].PeakMemory // it only grows
	}
	return order
}

func median(samples []Sample, of func(Sample) float64) float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	return Median(values)
}

// plain sets a table in columns of equal width.
func plain(lines [][]string) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, line := range lines {
		fmt.Fprintln(w, strings.Join(line, "\t"))
	}
	_ = w.Flush() // a strings.Builder takes everything
	return out.String()
}

// page is a result as Markdown.
var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"format": Format,
	"cell":   strings.NewReplacer("|", `\|`, "\n", " ").Replace,
}).Parse(`
{{- define "table"}}{{range $i, $line := .}}|{{range $line}} {{cell .}} |{{end}}
{{if eq $i 0}}|{{range $line}}---|{{end}}
{{end}}{{end}}{{end -}}
# Benchmarks of {{.Date}}

{{if .Quick}}This was a quick run: it shows that everything works, and its numbers are noise.

{{end}}Revision {{.Revision}}. {{.Settings.Rounds}} rounds of {{.Settings.Seconds}} s each, in turns; medians.

{{with .Machine}}- Processor: {{.CPU}}, {{.Cores}} cores
- Memory: {{format .MemoryGiB "GiB"}}
- System: {{.System}}, kernel {{.Kernel}}
- Disk: {{.FileSystem}}
- Go: {{.Go}}
{{end}}{{range .Programs}}- {{.Name}}: {{if .Absent}}absent: {{.Absent}}{{else}}{{.Version}}{{end}}
{{end}}
## Figures

{{template "table" .Verdicts}}
## All servers

{{template "table" .Details}}`))

// Markdown returns the whole result as a page.
func (r Result) Markdown() (string, error) {
	var out strings.Builder
	err := page.Execute(&out, r)
	return out.String(), err
}
