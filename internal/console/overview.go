package console

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"petcat"
	"petcat/internal/pages"
)

// charts answers with the steps for the charts.
func charts(x *exchange) error { return x.WriteJSON(x.History.Last(x.Value("span") == "day")) }

// overviewView is the state of the node, now and over the span.
type overviewView struct {
	Span       string
	Ready      bool
	Parts      []partView
	Nodes      int
	Total      *Step
	PerMinute  int64  // recent requests
	P50, P99   string // of the last minute
	Reasons    []reasonView
	Bans       string // number in force; "–" if unknown
	Categories string // number and noun; "–" if unknown
	Requests   string // number of pending plan requests, with words; "" for none
}

// partView is a part of the node with its history.
type partView struct {
	Part

	Past    []pastView
	Healthy string // share of the time, in percent
}

// pastView is a piece of a strip that shows when a part was healthy.
type pastView struct {
	State string // healthy, unhealthy, or unknown
	End   time.Time
}

type reasonView struct {
	Code  petcat.Code
	Count int64
	Share int64 // of all refusals, in percent
}

// unknown is shown for an unknown number.
const unknown = "–"

// pieces is the number of pieces of a strip: a divisor of the numbers of steps.
const pieces = 72

func overview(x *exchange) error {
	span := "hour"
	if x.Value("span") == "day" {
		span = "day"
	}
	steps := x.History.Last(span == "day")
	v := overviewView{Span: span, Ready: true, Bans: unknown, Categories: unknown + " categories", Nodes: len(x.Nodes())}
	total, recent := newStep(x.now()), newStep(x.now())
	for _, s := range slices.Backward(steps) {
		total.add(&s)
		if recent.Took < time.Minute {
			recent.add(&s)
		}
	}
	v.Total, v.PerMinute = &total, int64(float64(recent.Requests())*min(1, float64(time.Minute)/float64(recent.Took)))
	v.P50, v.P99, v.Reasons = latency(recent.quantile(0.5)), latency(recent.quantile(0.99)), reasons(&total)
	for _, part := range x.Parts() {
		v.Parts = append(v.Parts, past(part, steps))
		v.Ready = v.Ready && part.Problem == ""
	}
	// If the store fails, the page still says what is wrong.
	v.fromStore(x)
	if list, _, err := x.List.Current(x.R.Context(), 0); err == nil {
		v.Categories = humanize.Comma(list.Count()) + " " + english.PluralWord(int(list.Count()), "category", "categories")
	}
	return x.Render("overview", pages.View{Title: "Overview", Section: "overview", Data: v})
}

// fromStore adds the numbers from the store.
func (v *overviewView) fromStore(x *exchange) {
	if bans, more, err := x.BansInForce(petcat.BanQuery{}); err == nil {
		v.Bans = strconv.Itoa(len(bans))
		if more {
			v.Bans += "+"
		}
	}
	waiting, err := x.Store.PlanRequests(x.R.Context(), petcat.PlanRequestQuery{State: petcat.PlanRequestPending, Limit: pages.Size + 1})
	if err == nil && len(waiting) > 0 {
		v.Requests = english.Plural(len(waiting), "customer asks", "customers ask")
	}
}

// latency formats a short duration with two significant digits, and 0 as unknown.
func latency(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	switch {
	case d == 0:
		return unknown
	case ms < 10:
		return fmt.Sprintf("%.2f ms", ms)
	default:
		return fmt.Sprintf("%.0f ms", ms)
	}
}

// reasons returns the refusals by reason, the most frequent first.
func reasons(s *Step) (all []reasonView) {
	for code, n := range s.Reasons {
		all = append(all, reasonView{code, n, (100*n + s.Refused/2) / s.Refused})
	}
	slices.SortFunc(all, func(a, b reasonView) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Code, b.Code)) })
	return all
}

// past returns the history of a part as a strip.
func past(part Part, steps []Step) partView {
	v := partView{Part: part, Healthy: unknown}
	healthy, known := 0, 0
	for piece := range slices.Chunk(steps, len(steps)/pieces) {
		state := "unknown"
		for _, s := range piece {
			if s.Took == 0 { // the node was not running
				continue
			}
			known++
			if slices.Contains(s.Unhealthy, part.Name) {
				state = "unhealthy"
				continue
			}
			healthy++
			if state == "unknown" {
				state = "healthy"
			}
		}
		v.Past = append(v.Past, pastView{state, piece[len(piece)-1].End})
	}
	if known > 0 {
		v.Healthy = strconv.Itoa(100 * healthy / known)
	}
	return v
}
