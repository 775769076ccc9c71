// Package plot draws what was measured as SVG files. It draws only what was
// measured: a run of a part leaves the other plots as they are.
package plot

import (
	"bytes"
	"cmp"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"petcat/bench/report"
)

// Sizes in points.
const (
	width       = 570
	lineHeight  = 320
	barHeight   = 18
	aroundBars  = 60 // title and the note below
	labelOffset = 5
	labelGap    = 16 // readers' fonts may be wider than the one that was measured
)

var (
	blue   = color.RGBA{R: 0x09, G: 0x69, B: 0xda, A: 0xff}
	orange = color.RGBA{R: 0xbc, G: 0x4c, A: 0xff}
	grey   = color.RGBA{R: 0x6e, G: 0x77, B: 0x81, A: 0xff}
)

// Draw writes the plots of a result into a directory.
func Draw(r report.Result, dir string) error {
	note := r.Date + ", " + r.Machine.CPU
	if r.Quick {
		note = "A quick run, whose numbers are noise. " + note
	}
	series := r.Series()
	for file, draw := range map[string]func([]report.Sample, string) ([]byte, error){
		"throughput.svg": throughput, "cost.svg": cost, "create.svg": create, "overload.svg": overload,
	} {
		svg, err := draw(series, note)
		if err == nil && svg != nil {
			err = os.WriteFile(filepath.Join(dir, file), svg, 0o644) //nolint:gosec // for everybody to read
		}
		if err != nil {
			return fmt.Errorf("draw %s: %w", file, err)
		}
	}
	return nil
}

// chart returns an empty plot. What it is about stands above it, the note below.
func chart(title, below string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text = title, below
	p.Title.Padding = vg.Points(10)
	p.X.Label.Padding, p.Y.Padding = vg.Points(6), vg.Points(4)
	p.Title.TextStyle.Font.Size = 13
	p.X.Label.TextStyle.Font.Size = 10
	for _, style := range []*text.Style{&p.Title.TextStyle, &p.X.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle} {
		style.Font.Variant = "Sans"
	}
	return p
}

// save draws plots below each other, each of its height. An image on a page
// follows the reader's system: on a dark one its colours are turned round.
func save(title string, heights []vg.Length, plots ...*plot.Plot) ([]byte, error) {
	const (
		head = `<title>%s</title>
<style>
text{font-family:"Liberation Sans",Arial,Helvetica,sans-serif!important}
@media (prefers-color-scheme:dark){svg{filter:invert(0.9) hue-rotate(180deg)}}
</style>
`
		inside = 8
	)
	total := vg.Length(0)
	for _, h := range heights {
		total += h
	}
	canvas := vgsvg.New(width, total)
	bottom := total
	for i, p := range plots {
		top := bottom
		bottom -= heights[i]
		p.Draw(draw.Crop(draw.New(canvas), inside, -2*inside, bottom+inside, top-total-inside))
	}
	var out bytes.Buffer
	_, err := canvas.WriteTo(&out)
	before, after, _ := strings.Cut(out.String(), "<g ")
	return []byte(before + fmt.Sprintf(head, title) + "<g " + after), err
}

// throughput compares the rates of all servers.
func throughput(series []report.Sample, note string) ([]byte, error) {
	const list, create = "List of 10 categories, answers per second", "Durable create, 64 connections, answers per second"
	var plots []*plot.Plot
	var heights []vg.Length
	for _, c := range []struct{ group, title, what string }{{"list", list, " list"}, {"create", create, " create"}} {
		var bars []report.Sample
		for _, s := range series {
			if s.Group == c.group && s.Connections == 64 {
				s.Subject = strings.Replace(s.Subject, c.what, "", 1)
				bars = append(bars, s)
			}
		}
		if len(bars) == 0 {
			continue
		}
		slices.SortStableFunc(bars, func(a, b report.Sample) int { return cmp.Compare(a.Rate, b.Rate) })
		p, err := barChart(c.title, bars)
		if err != nil {
			return nil, err
		}
		plots, heights = append(plots, p), append(heights, vg.Length(aroundBars+barHeight*len(bars)))
	}
	if len(plots) == 0 {
		return nil, nil
	}
	plots[len(plots)-1].X.Label.Text = note
	return save(plots[0].Title.Text, heights, plots...)
}

// barChart draws a bar for the rate of each server, from the lowest up.
func barChart(title string, bars []report.Sample) (*plot.Plot, error) {
	p := chart(title, "")
	p.X.Tick.Marker = plot.ConstantTicks(nil)
	p.X.LineStyle.Width, p.Y.LineStyle.Width = 0, 0
	var names []string
	var numbers plotter.XYLabels
	for i, s := range bars {
		bar, err := plotter.NewBarChart(plotter.Values{s.Rate}, vg.Points(barHeight-5))
		if err != nil {
			return nil, err
		}
		bar.Horizontal, bar.XMin, bar.Color, bar.LineStyle.Width = true, float64(i), grey, 0
		if s.Subject == "petcat" {
			bar.Color = blue
		}
		p.Add(bar)
		names = append(names, labelOf(s.Subject, s.Group))
		numbers.XYs = append(numbers.XYs, plotter.XY{X: s.Rate, Y: float64(i)})
		numbers.Labels = append(numbers.Labels, report.Format(s.Rate, ""))
	}
	labels, err := plotter.NewLabels(numbers)
	if err != nil {
		return nil, err
	}
	labels.Offset = vg.Point{X: labelOffset}
	for i := range labels.TextStyle {
		labels.TextStyle[i].Font.Variant, labels.TextStyle[i].YAlign = "Sans", text.YCenter
	}
	p.Add(labels)
	p.NominalY(names...)
	p.Y.Tick.Length, p.Y.Tick.LineStyle.Width, p.Y.Tick.LineStyle.Color = labelGap, 1, color.Transparent
	p.X.Min, p.X.Max = 0, 1.15*bars[len(bars)-1].Rate // room for the number
	p.Y.Min, p.Y.Max = -0.5, float64(len(bars))-0.5
	return p, nil
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

// line is one of a chart, with what a sample adds to it.
type line struct {
	label  string
	color  color.Color
	dashed bool
	of     func(report.Sample) (x, y float64, ok bool)
}

// cost shows the processor time of an answer against the number of categories.
func cost(series []report.Sample, note string) ([]byte, error) {
	of := func(subject string) func(report.Sample) (x, y float64, ok bool) {
		return func(s report.Sample) (x, y float64, ok bool) {
			return float64(s.Categories), s.CPU, (s.Group == "list" || s.Group == "sizes") && s.Categories > 0 && s.CPU > 0 && strings.HasPrefix(s.Subject, subject)
		}
	}
	return lineChart("Server CPU per answer against the number of categories, µs", "categories in the list\n"+note, series,
		line{"petcat", blue, false, of("petcat list")},
		line{"bare, same bytes", grey, false, of("bare list")},
		line{"petcat, 304", orange, false, of("petcat 304 of")},
	)
}

// create shows the latency of creates against the number of clients.
func create(series []report.Sample, note string) ([]byte, error) {
	of := func(subject string, micros func(report.Sample) float64) func(report.Sample) (x, y float64, ok bool) {
		return func(s report.Sample) (x, y float64, ok bool) {
			return float64(s.Connections), micros(s) / 1000, s.Group == "create" && s.Subject == subject
		}
	}
	p50, p99 := func(s report.Sample) float64 { return s.P50 }, func(s report.Sample) float64 { return s.P99 }
	return lineChart("Latency of a durable create against the number of clients, ms", "connections, each with one create under way\n"+note, series,
		line{"petcat p99", blue, true, of("petcat create", p99)},
		line{"petcat p50", blue, false, of("petcat create", p50)},
		line{"bare p50, stores nothing", grey, false, of("bare create", p50)},
	)
}

// overload shows what becomes of creates against how many are offered.
func overload(series []report.Sample, note string) ([]byte, error) {
	of := func(rate func(report.Sample) float64) func(report.Sample) (x, y float64, ok bool) {
		return func(s report.Sample) (x, y float64, ok bool) {
			return s.Offered, rate(s), s.Group == "overload" && s.Offered > 0
		}
	}
	return linearChart("Durable creates a second, when the store is slow", "creates offered a second, whether earlier ones are answered or not\n"+note, series,
		line{"created", blue, false, of(func(s report.Sample) float64 { return s.Rate })},
		line{"refused with 503", orange, true, of(func(s report.Sample) float64 { return s.Refused })},
	)
}

// lineChart has logarithmic axes both ways: what is drawn spans several powers of
// ten. It returns nil when no line has two points.
func lineChart(title, below string, series []report.Sample, lines ...line) ([]byte, error) {
	p := chart(title, below)
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.TickerFunc(ticks), plot.TickerFunc(ticks)
	long, err := drawLines(p, series, lines)
	if !long || err != nil {
		return nil, err
	}
	p.Y.Min, p.Y.Max = math.Pow(10, math.Floor(math.Log10(p.Y.Min))), math.Pow(10, math.Ceil(math.Log10(p.Y.Max)))
	return save(title, []vg.Length{lineHeight}, p)
}

// linearChart is lineChart with axes that begin at zero.
func linearChart(title, below string, series []report.Sample, lines ...line) ([]byte, error) {
	p := chart(title, below)
	long, err := drawLines(p, series, lines)
	if !long || err != nil {
		return nil, err
	}
	p.X.Min, p.Y.Min = 0, 0
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.TickerFunc(linearTicks), plot.TickerFunc(linearTicks)
	return save(title, []vg.Length{lineHeight}, p)
}

// drawLines reports whether one of the lines has two points.
func drawLines(p *plot.Plot, series []report.Sample, lines []line) (long bool, err error) {
	p.Legend.Top, p.Legend.Left, p.Legend.XOffs, p.Legend.Padding = true, true, labelOffset, 3
	p.Legend.YOffs, p.Legend.TextStyle.Font.Size = -labelOffset, 10
	p.Add(plotter.NewGrid())
	for _, l := range lines {
		var points plotter.XYs
		for _, s := range series {
			if x, y, ok := l.of(s); ok {
				points = append(points, plotter.XY{X: x, Y: y})
			}
		}
		if len(points) == 0 {
			continue
		}
		long = long || len(points) > 1
		slices.SortFunc(points, func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) })
		drawn, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return false, err
		}
		drawn.Width, drawn.Color, dots.Color = vg.Points(2), l.color, l.color
		dots.Shape, dots.Radius = draw.CircleGlyph{}, vg.Points(3)
		if l.dashed {
			drawn.Dashes = []vg.Length{vg.Points(5), vg.Points(4)}
		}
		p.Add(drawn, dots)
		p.Legend.Add(l.label, drawn)
	}
	return long, nil
}

// linearTicks are written as people read them.
func linearTicks(low, high float64) []plot.Tick {
	all := plot.DefaultTicks{}.Ticks(low, high)
	for i, t := range all {
		if t.Label != "" {
			all[i].Label = report.Format(t.Value, "")
		}
	}
	return all
}

// ticks are the powers of ten, written as people read them.
func ticks(low, high float64) []plot.Tick {
	all := plot.LogTicks{Prec: -1}.Ticks(low, high)
	for i, t := range all {
		if t.Label != "" {
			all[i].Label = strings.TrimRight(strings.TrimRight(report.Format(t.Value, ""), "0"), ".")
			if t.Value >= 1 {
				all[i].Label = report.Format(t.Value, "")
			}
		}
	}
	return all
}
