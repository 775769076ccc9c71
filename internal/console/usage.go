package console

import (
	"cmp"
	"slices"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/pages"
	usagehistory "github.com/petcat-api/petcat/internal/usage"
)

// usageView is a part of the usage history of one account or of all.
type usageView struct {
	Account  *petcat.Account // nil: all
	Path     string          // of the page, without a query
	By       petcat.UsageStep
	From, To string // requested days, "" for the default
	Begin    time.Time
	End      time.Time
	Total    petcat.UsageCounts
	Detail   pages.UsageDetail    // of the account
	Periods  []petcat.UsagePeriod // the newest first, at most maxPeriods
	More     int                  // number of periods not shown
	Gaps     []petcat.UsageGap
}

// maxPeriods is the maximum number of periods on a page. CSV has all of them.
const maxPeriods = 100

// usageQuery parses the query, for the account in the path or for all. The view has what was asked
// for, without the usage. If only the days are wrong, usageQuery returns the default time with the error.
func (c *Console) usageQuery(x *pages.Exchange) (petcat.UsageQuery, usageView, error) {
	v := usageView{
		Path: "usage",
		By:   petcat.UsageByHour,
	}
	if x.Value("by") == string(petcat.UsageByDay) {
		v.By = petcat.UsageByDay
	}
	account := petcat.AllAccounts
	if x.R.PathValue("account") != "" {
		a, err := c.findAccount(x)
		if err != nil {
			return petcat.UsageQuery{}, v, err
		}
		account = a.ID
		v.Account = &a
		v.Path = accountPath(a.ID) + "/usage"
	}
	from, fromErr := x.Date("from", "the first day")
	to, toErr := x.Date("to", "the day before which it ends")
	q, err := petcat.ParseUsageQuery(account, v.By, from, to, c.now())
	err = cmp.Or(fromErr, toErr, err)
	if err != nil {
		q, _ = petcat.ParseUsageQuery(account, v.By, time.Time{}, time.Time{}, c.now()) // valid
	} else {
		v.From = x.Value("from")
		v.To = x.Value("to")
	}
	v.Begin = q.From
	v.End = q.To
	return q, v, err
}

func (c *Console) usage(x *pages.Exchange) error {
	q, v, err := c.usageQuery(x)
	if err != nil {
		return x.Again(err, "", func(x *pages.Exchange) error { return c.showUsage(x, q, v) })
	}
	return c.showUsage(x, q, v)
}

// showUsage shows the usage that q selects.
func (c *Console) showUsage(x *pages.Exchange, q petcat.UsageQuery, v usageView) error {
	h, err := c.Store.Usage(x.R.Context(), q)
	if err != nil {
		return err
	}
	for _, p := range h.Periods {
		v.Total.Add(p.UsageCounts)
	}
	v.Gaps = h.Gaps
	v.Periods = slices.Clone(h.Periods)
	slices.Reverse(v.Periods)
	v.More = len(v.Periods) - maxPeriods
	if v.More > 0 {
		v.Periods = v.Periods[:maxPeriods]
	}
	section := "usage"
	if v.Account != nil {
		section = "accounts"
		if v.Detail, err = x.UsageDetail(c.Store, q); err != nil {
			return err
		}
	}
	return x.Render("usage", pages.View{
		Title:   "Usage",
		Section: section,
		Data:    v,
	})
}

// usageCSV sends all selected periods as a file.
func (c *Console) usageCSV(x *pages.Exchange) error {
	q, v, err := c.usageQuery(x)
	if err != nil {
		return err
	}
	h, err := c.Store.Usage(x.R.Context(), q)
	if err != nil {
		return err
	}
	name := "usage-by-" + string(v.By) + ".csv"
	if v.Account != nil {
		name = v.Account.ID.String() + "-" + name
	}
	x.W.Header().Set("Content-Type", "text/csv; charset=utf-8")
	x.W.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	x.W.Header().Set("Cache-Control", "no-store")
	_ = usagehistory.WriteCSV(x.W, h) // fails only if the client has gone
	return nil
}

// usageChart sends the data of the chart.
func (c *Console) usageChart(x *pages.Exchange) error {
	q, _, err := c.usageQuery(x)
	if err != nil {
		return err
	}
	h, err := c.Store.Usage(x.R.Context(), q)
	if err != nil {
		return err
	}
	return x.WriteUsage(q, h)
}
