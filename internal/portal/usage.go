package portal

import (
	"slices"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/pages"
)

// usageView is the last day by the hour, or the last thirty days by the day.
type usageView struct {
	By      petcat.UsageStep
	Begin   time.Time
	Total   petcat.UsageCounts
	Detail  pages.UsageDetail
	Gaps    []petcat.UsageGap
	Periods []petcat.UsagePeriod // the newest first
}

// usageQuery returns the query of the last day by the hour, or of the last 30 days by the day.
func (p *Portal) usageQuery(x *pages.Exchange) (petcat.UsageQuery, error) {
	by := petcat.UsageByHour
	if x.Value("by") == string(petcat.UsageByDay) {
		by = petcat.UsageByDay
	}
	return petcat.ParseUsageQuery(x.Session.Account.ID, by, time.Time{}, time.Time{}, p.now())
}

func (p *Portal) usage(x *pages.Exchange) error {
	q, err := p.usageQuery(x)
	if err != nil {
		return err
	}
	h, err := p.Store.Usage(x.R.Context(), q)
	if err != nil {
		return err
	}
	detail, err := x.UsageDetail(p.Store, q)
	if err != nil {
		return err
	}
	v := usageView{
		By:      q.Step,
		Begin:   q.From,
		Detail:  detail,
		Gaps:    h.Gaps,
		Periods: h.Periods,
	}
	for _, period := range h.Periods {
		v.Total.Add(period.UsageCounts)
	}
	slices.Reverse(v.Periods)
	return x.Render("usage", pages.View{
		Title:   "Usage",
		Section: "usage",
		Data:    v,
	})
}

// usageChart sends the data of the chart.
func (p *Portal) usageChart(x *pages.Exchange) error {
	q, err := p.usageQuery(x)
	if err != nil {
		return err
	}
	h, err := p.Store.Usage(x.R.Context(), q)
	if err != nil {
		return err
	}
	return x.WriteUsage(q, h)
}
