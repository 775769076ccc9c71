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
	plots := map[string]*plot.Plot{}
	for line := range slices.Chunk(r.latencies, len(shares())) {
		first := line[0]
		p := plots[first.what]
		if p == nil {
			p = plot.New()
			p.Title.Text, p.X.Label.Text, p.Y.Label.Text = first.what, "requests per second", "p99 in ms"
			p.X.Min, p.Y.Min, p.Legend.Top, p.Legend.Left = 0, 0, true, true
			plots[first.what] = p
		}
		var points plotter.XYs
		for _, l := range line {
			points = append(points, plotter.XY{X: l.Rate, Y: milliseconds(l.P99)})
		}
		if err := plotutil.AddLinePoints(p, first.name()+", "+first.protocol.name, points); err != nil {
			return err
		}
	}
	for what, p := range plots {
		file := "latency-" + strings.NewReplacer(" ", "-", ":", "").Replace(what) + ".svg"
		if err := p.Save(10*vg.Inch, 5*vg.Inch, filepath.Join(dir, file)); err != nil {
			return err
		}
	}
	return nil
}
