package plot

import "petcat/bench/report"

// barChart is one group of bars, drawn from the left.
type barChart struct {
	title string
	bars  []bar
}

type bar struct {
	label string
	value float64
	ours  bool
}

// Sizes in pixels.
const (
	pictureWidth = 760.0
	margin       = 24.0
	barHeight    = 22.0
	barPitch     = 30.0
	labelWidth   = 150.0
	valueWidth   = 80.0
	titleHeight  = 36.0
)

// drawBars draws charts below each other, "" for none.
func drawBars(charts []barChart, note string) string {
	if len(charts) == 0 {
		return ""
	}
	c := &canvas{width: pictureWidth}
	y := margin
	for _, chart := range charts {
		c.text(margin, y+12, "title", "start", chart.title)
		y += titleHeight
		most := 0.0
		for _, b := range chart.bars {
			most = max(most, b.value)
		}
		for _, b := range chart.bars {
			class := "bar"
			if b.ours {
				class = "bar ours"
			}
			width := (pictureWidth - 2*margin - labelWidth - valueWidth) * b.value / most
			c.text(margin+labelWidth-10, y+barHeight-6, "", "end", b.label)
			c.rect(margin+labelWidth, y, width, barHeight, class)
			c.text(margin+labelWidth+width+8, y+barHeight-6, "", "start", report.Format(b.value, ""))
			y += barPitch
		}
		y += 14
	}
	c.text(margin, y+8, "dim", "start", note)
	c.height = y + margin
	return c.finish(charts[0].title)
}
