package console

import (
	"cmp"
	"slices"
	"time"

	"petcat"
	"petcat/internal/pages"
	usagehistory "petcat/internal/usage"
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
	Periods  []petcat.UsagePeriod // the newest first, at most maxPeriods
	More     int                  // number of periods not shown
	Gaps     []petcat.UsageGap
}

// maxPeriods is the maximum number of periods on a page. CSV has all of them.
const maxPeriods = 100

// usageQuery parses the query, for the account in the path or for all. If only the days are
// wrong, it returns the default time with the error.
func (x *exchange) usageQuery() (q petcat.UsageQuery, v usageView, err error) {
	v = usageView{Path: "usage", By: petcat.UsageStep(x.Value("by"))}
	account := petcat.AllAccounts
	if x.R.PathValue("account") != "" {
		a, err := findAccount(x)
		if err != nil {
			return q, v, err
		}
		account, v.Account, v.Path = a.ID, &a, "accounts/"+a.ID.String()+"/usage"
	}
	if v.By != petcat.UsageByDay {
		v.By = petcat.UsageByHour
	}
	from, fromErr := x.Date("from", "the first day")
	to, toErr := x.Date("to", "the day before which it ends")
	q, err = petcat.ParseUsageQuery(account, v.By, from, to, x.now())
	if err = cmp.Or(fromErr, toErr, err); err == nil {
		v.From, v.To = x.Value("from"), x.Value("to")
	} else {
		q, _ = petcat.ParseUsageQuery(account, v.By, time.Time{}, time.Time{}, x.now())
	}
	v.Begin, v.End = q.From, q.To
	return q, v, err
}

func usage(x *exchange) error {
	q, v, err := x.usageQuery()
	page := func() error { return x.usagePage(q, v) }
	if err != nil {
		return x.Again(err, "", page)
	}
	return page()
}

// usagePage shows the usage that q selects.
func (x *exchange) usagePage(q petcat.UsageQuery, v usageView) error {
	h, err := x.Store.Usage(x.R.Context(), q)
	if err != nil {
		return err
	}
	for _, p := range h.Periods {
		v.Total.Add(p.UsageCounts)
	}
	v.Periods, v.Gaps = slices.Clone(h.Periods), h.Gaps
	slices.Reverse(v.Periods)
	if v.More = len(v.Periods) - maxPeriods; v.More > 0 {
		v.Periods = v.Periods[:maxPeriods]
	}
	section := "usage"
	if v.Account != nil {
		section = "accounts"
	}
	return x.Render("usage", pages.View{Title: "Usage", Section: section, Data: v})
}

// usageCSV answers with all selected periods as a file.
func usageCSV(x *exchange) error {
	q, v, err := x.usageQuery()
	if err != nil {
		return err
	}
	h, err := x.Store.Usage(x.R.Context(), q)
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

// usageChart answers with the data of the chart.
func usageChart(x *exchange) error {
	q, _, err := x.usageQuery()
	if err != nil {
		return err
	}
	return x.WriteUsage(q)
}
