package report

import (
	"fmt"
	"math"
	"strconv"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Met says whether a figure was reached.
type Met string

// The verdicts. Rows without a figure are there for information.
const (
	Yes    Met = "yes"
	No     Met = "no"
	Absent Met = "absent" // what it needs could not be had
	None   Met = ""
)

// Row is one line of the table.
type Row struct {
	Group          string    `json:"group"`
	What           string    `json:"what"`
	Value          float64   `json:"value"`
	Unit           string    `json:"unit"`
	Yardstick      string    `json:"yardstick,omitempty"`
	YardstickValue float64   `json:"yardstick_value,omitempty"`
	Ratio          float64   `json:"ratio,omitempty"` // of the value to the yardstick's: the median of the rounds
	Rounds         []float64 `json:"rounds,omitempty"`
	Figure         string    `json:"figure,omitempty"`
	Met            Met       `json:"met,omitempty"`
	Note           string    `json:"note,omitempty"`
}

// Figure is what is to be reached: a bound from below or from above. The zero
// Figure asks nothing.
type Figure struct {
	kind  string
	bound float64
}

const (
	atLeast = "at least"
	atMost  = "at most"
)

// AtLeast is a bound from below.
func AtLeast(bound float64) Figure { return Figure{atLeast, bound} }

// AtMost is a bound from above.
func AtMost(bound float64) Figure { return Figure{atMost, bound} }

func (f Figure) met(x float64) Met {
	switch {
	case f.kind == "":
		return None
	case f.kind == atLeast && x >= f.bound, f.kind == atMost && x <= f.bound:
		return Yes
	default:
		return No // what is not a number, too
	}
}

func (f Figure) text(unit string) string {
	if f.kind == "" {
		return ""
	}
	if unit != "" {
		unit = " " + unit
	}
	return f.kind + " " + strconv.FormatFloat(f.bound, 'f', -1, 64) + unit
}

// Column is a row's name and measurements, one for each round.
type Column struct {
	Name   string
	Values []float64
}

// Compare makes a row of which the ratio is to reach the figure.
func Compare(group, what, unit string, ours []float64, theirs Column, f Figure) Row {
	rounds := Ratios(ours, theirs.Values)
	if len(rounds) == 0 {
		return Missing(group, what, theirs.Name, f.text(""), "nothing was measured")
	}
	ratio := Median(rounds)
	return Row{
		Group: group, What: what, Value: Median(ours), Unit: unit,
		Yardstick: theirs.Name, YardstickValue: Median(theirs.Values),
		Ratio: ratio, Rounds: rounds, Figure: f.text(""), Met: f.met(ratio),
	}
}

// Measure makes a row of which the value itself is to reach the figure.
func Measure(group, what, unit string, values []float64, f Figure) Row {
	if len(values) == 0 {
		return Missing(group, what, "", f.text(unit), "nothing was measured")
	}
	value := Median(values)
	return Row{Group: group, What: what, Value: value, Unit: unit, Rounds: values, Figure: f.text(unit), Met: f.met(value)}
}

// Missing makes a row of what could not be measured.
func Missing(group, what, yardstick, figure, why string) Row {
	return Row{Group: group, What: what, Yardstick: yardstick, Figure: figure, Met: Absent, Note: why}
}

// Text returns what the figure asks of a ratio.
func (f Figure) Text() string { return f.text("") }

// Format writes a number as people read it: three digits that count, and
// thousands set apart.
func Format(value float64, unit string) string {
	if unit != "" && unit != "/s" {
		unit = " " + unit
	}
	magnitude := math.Abs(value)
	decimals := 0
	switch {
	case magnitude == math.Trunc(magnitude):
	case magnitude < 0.1 && magnitude > 0:
		decimals = 4
	case magnitude < 10:
		decimals = 2
	case magnitude < 100:
		decimals = 1
	}
	return message.NewPrinter(language.English).Sprintf("%.*f", decimals, value) + unit
}

// ratio writes a ratio: always with decimals, because 0.996 is not 1.
func ratio(r float64) string {
	decimals := 3
	if r >= 10 {
		decimals = 1
	}
	return strconv.FormatFloat(r, 'f', decimals, 64)
}

func (r Row) cells() []string {
	cells := []string{r.What, "", r.Yardstick, "", r.Figure, string(r.Met)}
	if r.Met == Absent {
		cells[5] = fmt.Sprintf("absent: %s", r.Note)
		return cells
	}
	cells[1] = Format(r.Value, r.Unit)
	if r.Yardstick != "" && r.YardstickValue != 0 {
		cells[2] += " " + Format(r.YardstickValue, r.Unit)
		cells[3] = ratio(r.Ratio)
	}
	if r.Note != "" {
		cells[0] += " (" + r.Note + ")"
	}
	return cells
}
