package console

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/pages"
)

// charts sends the steps for the charts.
func (c *Console) charts(x *pages.Exchange) error {
	_, steps := c.span(x)
	return x.WriteJSON(steps)
}

// span returns the requested time span, "hour" or "day", and its steps.
func (c *Console) span(x *pages.Exchange) (string, []Step) {
	if x.Value("span") == "day" {
		return "day", c.History.LastDay()
	}
	return "hour", c.History.LastHour()
}

// overviewView is the state of the node, now and over the span.
type overviewView struct {
	Span       string
	Status     string // as in /readyz
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
	Share int64 // of all rejections, in percent
}

// unknown is shown for an unknown number.
const unknown = "–"

// pieces is the number of pieces of a strip: a divisor of the numbers of steps.
const pieces = 72

func (c *Console) overview(x *pages.Exchange) error {
	span, steps := c.span(x)
	v := overviewView{
		Span:       span,
		Status:     c.Status(),
		Nodes:      len(c.Nodes()),
		Bans:       c.countBans(x),
		Categories: c.countCategories(x),
		Requests:   c.countPlanRequests(x),
	}
	c.addNumbers(&v, steps)
	for _, part := range c.Parts() {
		v.Parts = append(v.Parts, past(part, steps))
	}
	return x.Render("overview", pages.View{
		Title:   "Overview",
		Section: "overview",
		Data:    v,
	})
}

// addNumbers adds the numbers of the steps, and of their last minute.
func (c *Console) addNumbers(v *overviewView, steps []Step) {
	var total, minute Step
	for _, s := range slices.Backward(steps) {
		total.add(s)
		if minute.Took < time.Minute {
			minute.add(s)
		}
	}
	perMinute := float64(minute.Requests())
	if minute.Took > time.Minute { // by steps of the last day
		perMinute *= float64(time.Minute) / float64(minute.Took)
	}
	v.Total = &total
	v.Reasons = reasons(&total)
	v.PerMinute = int64(perMinute)
	v.P50 = latency(minute.quantile(0.5, c.History.bounds))
	v.P99 = latency(minute.quantile(0.99, c.History.bounds))
}

// countBans returns the number of bans in force. Like the other numbers of the store, it may be
// unknown: if the store fails, the page still says what is wrong.
func (c *Console) countBans(x *pages.Exchange) string {
	bans, more, err := x.BansInForce(petcat.BanQuery{})
	if err != nil {
		return unknown
	}
	if more {
		return strconv.Itoa(len(bans)) + "+"
	}
	return strconv.Itoa(len(bans))
}

// countPlanRequests returns the number of pending plan requests with words, "" if there are none.
func (c *Console) countPlanRequests(x *pages.Exchange) string {
	waiting, err := c.Store.PlanRequests(x.R.Context(), petcat.PlanRequestQuery{
		State: petcat.PlanRequestPending,
		Limit: pages.Size + 1,
	})
	if err != nil || len(waiting) == 0 {
		return ""
	}
	return english.Plural(len(waiting), "customer asks", "customers ask")
}

// countCategories returns the number of categories, and the noun.
func (c *Console) countCategories(x *pages.Exchange) string {
	list, _, err := c.List.Current(x.R.Context(), 0)
	if err != nil {
		return unknown + " categories"
	}
	n := list.Count()
	return humanize.Comma(n) + " " + english.PluralWord(int(n), "category", "categories")
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

// reasons returns the rejections by reason, the most frequent first.
func reasons(s *Step) (all []reasonView) {
	for code, n := range s.Reasons {
		all = append(all, reasonView{
			Code:  code,
			Count: n,
			Share: (100*n + s.Rejected/2) / s.Rejected,
		})
	}
	slices.SortFunc(all, func(a, b reasonView) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Code, b.Code))
	})
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
		v.Past = append(v.Past, pastView{
			State: state,
			End:   piece[len(piece)-1].End,
		})
	}
	if known > 0 {
		v.Healthy = strconv.Itoa(100 * healthy / known)
	}
	return v
}
