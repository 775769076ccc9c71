package main

import (
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// draw draws a plot for each kind of request: the latency of 99 % of the requests over the rate.
func (r report) draw(dir string) error {
	lines := map[string][]any{} // names and points
	for line := range slices.Chunk(r.latencies, len(shares())) {
		var points plotter.XYs
		for _, l := range line {
			points = append(points, plotter.XY{X: l.Rate, Y: milliseconds(l.P99)})
		}
		first := line[0]
		lines[first.what] = append(lines[first.what], first.name()+", "+first.protocol.name, points)
	}
	for what, all := range lines {
		p := plot.New()
		p.Title.Text, p.X.Label.Text, p.Y.Label.Text = what, "requests per second", "p99 in ms"
		p.X.Min, p.Y.Min, p.Legend.Top, p.Legend.Left = 0, 0, true, true
		if err := plotutil.AddLinePoints(p, all...); err != nil { // together, so that each gets a color
			return err
		}
		p.Y.Max *= 1.4 // room for the legend
		if err := p.Save(10*vg.Inch, 5*vg.Inch, filepath.Join(dir, plotFile(what))); err != nil {
			return err
		}
	}
	return nil
}

// plotFile is the name of the file of a plot.
func plotFile(what string) string {
	return "latency-" + strings.NewReplacer(" ", "-", ":", "").Replace(what) + ".svg"
}

// plotLinks returns the plots as Markdown.
func (r report) plotLinks() string {
	var links []string
	for _, l := range r.latencies {
		link := "![" + l.what + ": p99 over the rate](" + plotFile(l.what) + ")\n"
		if !slices.Contains(links, link) {
			links = append(links, link)
		}
	}
	return strings.Join(links, "\n")
}
