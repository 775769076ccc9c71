package plot

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"petcat/bench/report"
)

// lineChart has logarithmic axes both ways: what is drawn spans several powers
// of ten.
type lineChart struct {
	title, note string
	x           string // what the x axis counts
	lines       []line
}

type line struct {
	label, style string
	of           string // the subjects that it is made of, by the beginning of their name
	points       []point
}

type point struct{ x, y float64 }

// Sizes in pixels.
const (
	chartHeight = 400.0
	plotLeft    = 72.0
	plotRight   = 570.0 // room for the lines' names
	plotTop     = 58.0
	plotBottom  = 318.0
	labelGap    = 17.0
)

// axis maps values to pixels.
type axis struct{ low, high, from, to float64 }

func (a axis) at(v float64) float64 {
	span := math.Log10(a.high) - math.Log10(a.low)
	return a.from + (math.Log10(v)-math.Log10(a.low))/span*(a.to-a.from)
}

// ticks are the powers of ten on the axis, or of two where there are too few.
func (a axis) ticks() []float64 {
	var ticks []float64
	for _, base := range []float64{10, 4, 2} {
		ticks = ticks[:0]
		first := math.Ceil(math.Log(a.low)/math.Log(base) - 1e-9)
		for e := first; math.Pow(base, e) <= a.high*(1+1e-9); e++ {
			ticks = append(ticks, math.Pow(base, e))
		}
		if len(ticks) >= 4 {
			break
		}
	}
	return ticks
}

// drawLines draws the lines that have points, "" when none has two.
func drawLines(chart lineChart) string {
	var lines []line
	long := false
	for _, l := range chart.lines {
		if len(l.points) > 0 {
			slices.SortFunc(l.points, func(a, b point) int { return cmp.Compare(a.x, b.x) })
			lines = append(lines, l)
			long = long || len(l.points) > 1
		}
	}
	if !long {
		return ""
	}
	x, y := axes(lines)
	c := &canvas{width: pictureWidth, height: chartHeight}
	c.text(margin, margin+12, "title", "start", chart.title)
	for _, v := range y.ticks() {
		c.rule(plotLeft, y.at(v), plotRight, y.at(v), "grid")
		c.text(plotLeft-8, y.at(v)+4, "dim", "end", number(v))
	}
	for _, v := range x.ticks() {
		c.rule(x.at(v), plotTop, x.at(v), plotBottom, "grid")
		c.text(x.at(v), plotBottom+18, "dim", "middle", number(v))
	}
	c.text((plotLeft+plotRight)/2, plotBottom+38, "dim", "middle", chart.x)
	for _, l := range lines {
		var at []point
		for _, p := range l.points {
			at = append(at, point{x.at(p.x), y.at(p.y)})
		}
		c.path(at, l.style)
		for _, p := range at {
			c.dot(p.x, p.y, "f"+l.style[:1])
		}
	}
	labels(c, lines, y)
	c.text(margin, chartHeight-16, "dim", "start", chart.note)
	return c.finish(chart.title)
}

// axes returns axes with whole decades upwards, and just the points across.
func axes(lines []line) (x, y axis) {
	x, y = axis{math.Inf(1), 0, plotLeft, plotRight}, axis{math.Inf(1), 0, plotBottom, plotTop}
	for _, l := range lines {
		for _, p := range l.points {
			x.low, x.high = min(x.low, p.x), max(x.high, p.x)
			y.low, y.high = min(y.low, p.y), max(y.high, p.y)
		}
	}
	y.low = math.Pow(10, math.Floor(math.Log10(y.low)))
	y.high = math.Pow(10, math.Ceil(math.Log10(y.high)))
	if y.high == y.low {
		y.high *= 10
	}
	if x.high == x.low {
		x.high *= 10
	}
	return x, y
}

// labels names the lines at their ends, from the top down, none over another.
func labels(c *canvas, lines []line, y axis) {
	end := func(l line) float64 { return y.at(l.points[len(l.points)-1].y) }
	lines = slices.Clone(lines)
	slices.SortFunc(lines, func(a, b line) int { return cmp.Compare(end(a), end(b)) })
	lowest := math.Inf(-1)
	for _, l := range lines {
		at := max(end(l)+4, lowest+labelGap)
		c.text(plotRight+12, at, "f"+l.style[:1], "start", l.label)
		lowest = at
	}
}

// number writes a tick's value.
func number(v float64) string {
	if v >= 1 {
		return trimZeros(report.Format(v, ""))
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

func trimZeros(text string) string {
	for _, zeros := range []string{".00", ".0"} {
		if n := len(text) - len(zeros); n > 0 && text[n:] == zeros {
			return text[:n]
		}
	}
	return text
}
