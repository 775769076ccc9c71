package portal

import (
	"slices"
	"time"

	"petcat"
	"petcat/internal/pages"
)

// overviewView is the account with a page of its keys.
type overviewView struct {
	pages.KeyList

	Windows []pages.Window       // nil if unknown
	Plans   []petcat.Plan        // that the account may request, the next larger one first
	Asked   []petcat.PlanRequest // the last request, if any
	Refused []petcat.Refusal
}

func overview(x *exchange) (err error) {
	ctx, a, plans := x.R.Context(), x.account, petcat.Plans()
	at := slices.Index(plans, a.Plan)
	v := overviewView{Windows: x.Windows(x.Limiter, a), Plans: slices.Concat(plans[min(at+1, len(plans)-1):], plans[:at])} // Enterprise has other numbers
	if v.Asked, err = x.Store.PlanRequests(ctx, petcat.PlanRequestQuery{Account: a.ID, Limit: 1}); err != nil {
		return err
	}
	if v.KeyList, err = x.KeyList(a.ID); err != nil {
		return err
	}
	if v.Refused, err = x.Store.Refusals(ctx, a.ID); err != nil {
		return err
	}
	return x.Render("overview", pages.View{Title: a.Name, Section: "overview", Data: v})
}

// requestPlan requests another plan.
func requestPlan(x *exchange) error {
	n, err := petcat.ParseNewPlanRequest(x.account.ID, x.Value("plan"), x.Value("note"))
	if err != nil {
		return err
	}
	by, err := x.Author()
	if err != nil {
		return err
	}
	asked, err := x.Store.RequestPlan(x.R.Context(), by, n)
	if err != nil {
		return err
	}
	return x.Made("", asked.Replayed, "asked")
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
	if petcat.UsageStep(x.Value("by")) == petcat.UsageByDay {
		by = petcat.UsageByDay
	}
	q, _ := petcat.ParseUsageQuery(x.account.ID, by, time.Time{}, time.Time{}, x.Clock.Read().Time()) // the default time is valid
	return q
}

func usage(x *exchange) error {
	q := x.usageQuery()
	h, err := x.Store.Usage(x.R.Context(), q)
	if err != nil {
		return err
	}
	v := usageView{By: q.Step, Begin: q.From, Periods: h.Periods}
	for _, p := range h.Periods {
		v.Total.Add(p.UsageCounts)
	}
	slices.Reverse(v.Periods)
	return x.Render("usage", pages.View{Title: "Usage", Section: "usage", Data: v})
}

// usageChart sends the data of the chart.
func usageChart(x *exchange) error {
	return x.WriteUsage(x.usageQuery())
}
