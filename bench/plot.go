package main

import (
	"errors"
	"image/color"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// bar is one bar of a plot.
type bar struct {
	name  string
	value float64
}

// draw draws two plots: the rates of one node and of its yardsticks, and each row's margin over
// its figure.
func (r report) draw(dir string) error {
	var rates, margins []bar
	for _, s := range r.series {
		if s.unit == "/s" {
			rates = append(rates, bar{s.name, median(s.values)})
		}
	}
	for _, row := range r.rows {
		value, name := row.measured, row.what
		if row.yardstick != "" {
			value, name = row.ratio, row.what+" / "+row.yardstick
		}
		if row.figure.words != "" {
			margins = append(margins, bar{name, row.figure.margin(value)})
		}
	}
	return errors.Join(
		drawBars(filepath.Join(dir, "throughput.svg"), "Rates with 64 connections", "each second", rates, 0),
		drawBars(filepath.Join(dir, "figures.svg"), "Measurements relative to their figures", "met from 1 on", margins, 1),
	)
}

// drawBars draws horizontal bars, the first at the top, and a line at limit unless it is 0.
func drawBars(file, title, unit string, bars []bar, limit float64) error {
	if len(bars) == 0 {
		return nil
	}
	names, values := make([]string, len(bars)), make(plotter.Values, len(bars))
	for i, b := range bars {
		at := len(bars) - 1 - i
		names[at], values[at] = b.name, b.value
	}
	chart, err := plotter.NewBarChart(values, vg.Points(12))
	if err != nil {
		return err
	}
	chart.Horizontal, chart.Color, chart.LineStyle.Width = true, color.RGBA{R: 0x3b, G: 0x78, B: 0xb8, A: 0xff}, 0
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.X.Min = title, unit, 0
	p.Add(plotter.NewGrid(), chart)
	if limit != 0 {
		line, err := plotter.NewLine(plotter.XYs{{X: limit, Y: -0.5}, {X: limit, Y: float64(len(bars)) - 0.5}})
		if err != nil {
			return err
		}
		line.Color = color.RGBA{R: 0xc0, A: 0xff}
		p.Add(line)
	}
	p.NominalY(names...)
	p.X.Max *= 1.05
	p.Title.Padding = vg.Points(8)
	return p.Save(10*vg.Inch, vg.Length(len(bars))*vg.Points(22)+vg.Inch, file)
}
