package portal

import (
	"crypto/rand"
	"slices"
	"time"

	"petcat"
	"petcat/internal/pages"
	"petcat/internal/ratelimit"
)

// pageSize is how many rows a page of a list has.
const pageSize = 50

// overviewView is the account, with a page of its keys.
type overviewView struct {
	Bans    map[petcat.KeyID]*petcat.Ban // in force
	Windows []windowView                 // none if the limiter cannot tell
	Plans   []petcat.Plan                // that the account may ask for, the next larger one first
	Asked   []petcat.PlanRequest         // the last one
	Keys    []petcat.Key
	Next    petcat.KeyID // of an older page; 0 for none
	Refused []petcat.Refusal
	Once    string // names what the form for a new key creates
}

// windowView is a window of the limiter, with its name.
type windowView struct {
	Name string
	ratelimit.WindowState
}

// End returns when the window ends.
func (w windowView) End() time.Time { return time.Unix(w.Reset, 0) }

func overview(x *exchange) (err error) {
	ctx, a, plans := x.r.Context(), x.account, petcat.Plans()
	at := slices.Index(plans, a.Plan)
	v := overviewView{Once: rand.Text(), Plans: slices.Concat(plans[min(at+1, len(plans)-1):], plans[:at])} // Enterprise has other numbers
	if d, err := x.Limiter.Peek(ctx, ratelimit.Charge{Account: a.ID, Quota: a.Quota}); err == nil {
		v.Windows = []windowView{{"this minute", d.Minute}, {"today", d.Day}}
	}
	if v.Asked, err = x.Store.PlanRequests(ctx, petcat.PlanRequestQuery{Account: a.ID, Limit: 1}); err != nil {
		return err
	}
	before, _ := petcat.ParseKeyID(x.value("before")) // without one, from the newest
	if v.Keys, err = x.Store.KeyPage(ctx, petcat.KeyQuery{Account: a.ID, Before: before, Limit: pageSize + 1}); err != nil {
		return err
	}
	if len(v.Keys) > pageSize {
		v.Keys, v.Next = v.Keys[:pageSize], v.Keys[pageSize-1].ID
	}
	if v.Bans, err = x.bans(); err != nil {
		return err
	}
	if v.Refused, err = x.Store.Refusals(ctx, a.ID); err != nil {
		return err
	}
	return x.render("overview", view{Title: a.Name, Section: "overview", Data: v})
}

// bans returns the bans in force of the account's keys.
func (x *exchange) bans() (map[petcat.KeyID]*petcat.Ban, error) {
	page, err := x.Store.BanPage(x.r.Context(), petcat.BanQuery{Account: x.account.ID, Active: x.now(), Limit: petcat.MaxPage})
	bans := make(map[petcat.KeyID]*petcat.Ban)
	for _, b := range page {
		if b.Active(x.now()) { // in shadow mode none refuses anything
			bans[b.Key] = &b
		}
	}
	return bans, err
}

// requestPlan asks the operators for another plan.
func requestPlan(x *exchange) error {
	n, err := petcat.ParseNewPlanRequest(x.account.ID, x.value("plan"), x.value("note"))
	if err != nil {
		return err
	}
	if _, err := x.Store.RequestPlan(x.r.Context(), n); err != nil {
		return err
	}
	return x.goTo("?done=asked")
}

// usageView is the last day by the hour, or the last thirty days by the day.
type usageView struct {
	By      petcat.UsageStep
	Begin   time.Time
	Total   petcat.UsageCounts
	Periods []petcat.UsagePeriod // the newest first
}

// usageQuery returns the query of the last day by the hour, or of the last 30 days by the day.
func (x *exchange) usageQuery() petcat.UsageQuery {
	by := petcat.UsageByHour
	if x.value("by") == petcat.UsageByDay.String() {
		by = petcat.UsageByDay
	}
	q, _ := petcat.ParseUsageQuery(x.account.ID, by.String(), time.Time{}, time.Time{}, x.now()) // the default time is valid
	return q
}

func usage(x *exchange) error {
	q := x.usageQuery()
	h, err := x.Store.Usage(x.r.Context(), q)
	if err != nil {
		return err
	}
	v := usageView{By: q.Step, Begin: q.From, Periods: h.Periods}
	for _, p := range h.Periods {
		v.Total.Add(p.UsageCounts)
	}
	slices.Reverse(v.Periods)
	return x.render("usage", view{Title: "Usage", Section: "usage", Data: v})
}

// usageChart answers with what the chart shows.
func usageChart(x *exchange) error {
	return pages.WriteUsage(x.r.Context(), x.w, x.usageQuery(), x.Store.Usage)
}
