package console

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"petcat"
	"petcat/internal/console/pages"
)

// Span is how far back a chart goes.
type Span string

// The spans.
const (
	Hour Span = "hour"
	Day  Span = "day"
)

// Refusals are the reasons to refuse a caller, in the order of the charts.
func Refusals() []petcat.Code {
	return []petcat.Code{
		petcat.CodeRateLimitExceeded, petcat.CodeDailyQuotaExceeded, petcat.CodeKeyBanned, petcat.CodeTooManyFailedAttempts,
		petcat.CodeInvalidAPIKey, petcat.CodeMissingAPIKey, petcat.CodeExpiredAPIKey, petcat.CodeRevokedAPIKey, petcat.CodeDisabledAPIKey,
	}
}

// chart is the history as the charts take it: columns, of which the first has the times in
// Unix seconds.
type chart struct {
	Requests [][]*float64 `json:"requests"` // a second: good, refused, faulty, failed
	Reasons  [][]*float64 `json:"reasons"`  // a second: see Refusals
	Median   [][]*float64 `json:"median"`   // milliseconds
	P99      [][]*float64 `json:"p99"`      // milliseconds
}

func newChart(steps []Step) chart {
	c := chart{Requests: make([][]*float64, 5), Reasons: make([][]*float64, 1+len(Refusals())), Median: make([][]*float64, 2), P99: make([][]*float64, 2)}
	// There is a gap where nothing is known, and in the latency where there was no request.
	add := func(columns [][]*float64, at time.Time, known bool, values ...float64) {
		for i, value := range append([]float64{float64(at.Unix())}, values...) {
			if i == 0 || known {
				columns[i] = append(columns[i], &value)
			} else {
				columns[i] = append(columns[i], nil)
			}
		}
	}
	// It begins where this node did.
	for _, s := range steps[max(0, slices.IndexFunc(steps, func(s Step) bool { return s.Took > 0 })):] {
		known, rate := s.Took > 0, func(n int64) float64 { return float64(n) / max(s.Took, 1).Seconds() }
		add(c.Requests, s.End, known, rate(s.Good), rate(s.Refused), rate(s.Faulty), rate(s.Failed))
		var reasons []float64
		for _, code := range Refusals() {
			reasons = append(reasons, rate(s.Reasons[code]))
		}
		add(c.Reasons, s.End, known, reasons...)
		add(c.Median, s.End, s.P99 > 0, milliseconds(s.P50))
		add(c.P99, s.End, s.P99 > 0, milliseconds(s.P99))
	}
	return c
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// charts answers with what the charts show.
func charts(x *exchange) error {
	return x.WriteJSON(newChart(x.History.Last(x.span())))
}

func (x *exchange) span() Span {
	if Span(x.Value("span")) == Day {
		return Day
	}
	return Hour
}

// overviewView is the state of the node, now and over the span.
type overviewView struct {
	Span       Span
	Ready      bool
	Parts      []partView
	Nodes      int
	Total      totals
	Reasons    []reasonView
	Bans       string // how many are in force; "–" if that is not known
	Categories string // how many there are, with the word; likewise
	Requests   string // how many customers wait for another plan, with the word; "" for none
}

// partView is a part of the node, with how it was over the span.
type partView struct {
	Part

	Past    []pastView
	Healthy string // the share of the time in which it was healthy, in percent
}

// pastView is a piece of a strip that shows when a part was healthy.
type pastView struct {
	State string // healthy, unhealthy, or unknown
	Title string
}

type totals struct {
	Requests, Refused, Faulty, Failed int64
	PerMinute                         int64 // requests, lately
	P50, P99                          string
}

type reasonView struct {
	Code  petcat.Code
	Count int64
	Share int64 // of all refusals, in percent
}

// unknown is what the page shows for a number that is not known.
const unknown = "–"

// pieces is how many pieces a strip has.
const pieces = 60

func overview(x *exchange) error {
	span := x.span()
	steps := x.History.Last(span)
	v := overviewView{Span: span, Ready: true, Bans: unknown, Categories: unknown + " categories", Nodes: len(x.Nodes()), Total: total(steps), Reasons: reasons(steps)}
	for _, part := range x.Parts() {
		v.Parts = append(v.Parts, past(part, steps))
		v.Ready = v.Ready && part.Problem == ""
	}
	// If the store fails, the page still says what is wrong.
	if !x.Session.Unverified {
		v.fromStore(x)
	}
	if list, _, err := x.List.Current(x.R.Context(), 0); err == nil {
		v.Categories = humanize.Comma(list.Count()) + " " + english.PluralWord(int(list.Count()), "category", "categories")
	}
	return x.Render("overview", pages.View{Title: "Overview", Section: "overview", Data: v})
}

// fromStore adds what the store knows.
func (v *overviewView) fromStore(x *exchange) {
	if bans, more, err := x.bansInForce(petcat.BanQuery{}); err == nil {
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

// total adds the steps up.
func total(steps []Step) (t totals) {
	for _, s := range steps {
		t.Requests += s.Good + s.Refused + s.Faulty + s.Failed
		t.Refused, t.Faulty, t.Failed = t.Refused+s.Refused, t.Faulty+s.Faulty, t.Failed+s.Failed
	}
	t.P50, t.P99 = unknown, unknown
	var took time.Duration
	for i := len(steps) - 1; i >= 0 && took < time.Minute; i-- {
		s := steps[i]
		took += s.Took
		t.PerMinute += s.Good + s.Refused + s.Faulty + s.Failed
		if s.P99 > 0 && t.P99 == unknown {
			t.P50, t.P99 = latency(s.P50), latency(s.P99)
		}
	}
	if took > time.Minute { // it is one long step
		t.PerMinute = int64(float64(t.PerMinute) * time.Minute.Seconds() / took.Seconds())
	}
	return t
}

// latency formats a short duration with two significant digits.
func latency(d time.Duration) string {
	if d < 10*time.Millisecond {
		return fmt.Sprintf("%.2f ms", milliseconds(d))
	}
	return fmt.Sprintf("%.0f ms", milliseconds(d))
}

// reasons counts the refusals by reason, in the order of [Refusals].
func reasons(steps []Step) (all []reasonView) {
	counts, sum := map[petcat.Code]int64{}, int64(0)
	for _, s := range steps {
		for code, n := range s.Reasons {
			counts[code] += n
			sum += n
		}
	}
	for _, code := range Refusals() {
		if counts[code] > 0 {
			all = append(all, reasonView{code, counts[code], (100*counts[code] + sum/2) / sum})
		}
	}
	return all
}

// past returns how a part was, in as many pieces as a strip has.
func past(part Part, steps []Step) partView {
	v := partView{Part: part, Healthy: unknown}
	healthy, known := 0, 0
	for i := range pieces {
		from, to := i*len(steps)/pieces, (i+1)*len(steps)/pieces
		piece := pastView{State: "unknown", Title: "not recorded"}
		for _, s := range steps[from:to] {
			if s.Took == 0 {
				continue // before this node was started
			}
			known++
			if slices.Contains(s.Unhealthy, part.Name) {
				piece = pastView{"unhealthy", pages.When(s.End) + ": unhealthy"}
				continue
			}
			healthy++
			if piece.State == "unknown" {
				piece = pastView{"healthy", pages.When(s.End)}
			}
		}
		v.Past = append(v.Past, piece)
	}
	if known > 0 {
		v.Healthy = strconv.Itoa(100 * healthy / known)
	}
	return v
}
