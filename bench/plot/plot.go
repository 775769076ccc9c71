// Package plot draws what was measured as SVG files that read well on a light
// and on a dark page. It draws only what was measured: a run of a part leaves
// the other plots as they are.
package plot

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"petcat/bench/report"
)

// Draw writes the plots of a result into a directory.
func Draw(r report.Result, dir string) error {
	note := r.Date + ", " + r.Machine.CPU
	if r.Quick {
		note = "A quick run, whose numbers are noise. " + note
	}
	series := r.Series()
	for file, svg := range map[string]string{
		"throughput.svg": throughput(series, note),
		"cost.svg":       cost(series, note),
		"create.svg":     create(series, note),
	} {
		if svg == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(svg), 0o644); err != nil { //nolint:gosec // for everybody to read
			return err
		}
	}
	return nil
}

// throughput compares the rates of all servers.
func throughput(series []report.Sample, note string) string {
	var charts []barChart
	for _, c := range []struct{ group, title, what string }{
		{"list", "List of 10 categories, answers per second", " list"},
		{"create", "Durable create, 64 connections, answers per second", " create"},
	} {
		chart := barChart{title: c.title}
		for _, s := range series {
			if s.Group == c.group && s.Connections == 64 {
				name := strings.Replace(s.Subject, c.what, "", 1)
				chart.bars = append(chart.bars, bar{label: labelOf(name, c.group), value: s.Rate, ours: name == "petcat"})
			}
		}
		slices.SortStableFunc(chart.bars, func(a, b bar) int { return cmp.Compare(b.value, a.value) })
		if len(chart.bars) > 0 {
			charts = append(charts, chart)
		}
	}
	return drawBars(charts, note)
}

// labelOf says what is compared, where the name alone does not.
func labelOf(name, group string) string {
	switch {
	case name == "bare" && group == "create":
		return "bare, stores nothing"
	case name == "bare":
		return "bare net/http"
	default:
		return name
	}
}

// cost shows the processor time of an answer against the number of categories.
func cost(series []report.Sample, note string) string {
	lines := []line{
		{label: "petcat", style: "a", of: "petcat list"},
		{label: "bare, same bytes", style: "b", of: "bare list"},
		{label: "petcat, 304", style: "c", of: "petcat 304 of"},
	}
	for i := range lines {
		for _, s := range series {
			if (s.Group == "list" || s.Group == "sizes") && s.Categories > 0 && strings.HasPrefix(s.Subject, lines[i].of) && s.CPU > 0 {
				lines[i].points = append(lines[i].points, point{float64(s.Categories), s.CPU})
			}
		}
	}
	return drawLines(lineChart{
		title: "Server CPU per answer against the number of categories, µs", note: note,
		x: "categories in the list", lines: lines,
	})
}

// create shows the latency of creates against the number of clients.
func create(series []report.Sample, note string) string {
	lines := []line{
		{label: "petcat p99", style: "a dashed"},
		{label: "petcat p50", style: "a"},
		{label: "bare p50, stores nothing", style: "b"},
	}
	for _, s := range series {
		if s.Group != "create" {
			continue
		}
		at := float64(s.Connections)
		switch s.Subject {
		case "petcat create":
			lines[0].points = append(lines[0].points, point{at, s.P99 / 1000})
			lines[1].points = append(lines[1].points, point{at, s.P50 / 1000})
		case "bare create":
			lines[2].points = append(lines[2].points, point{at, s.P50 / 1000})
		}
	}
	return drawLines(lineChart{
		title: "Latency of a durable create against the number of clients, ms", note: note,
		x: "connections, each with one create under way", lines: lines,
	})
}
