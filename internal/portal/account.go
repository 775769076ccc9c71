package portal

import (
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
	Windows []windowView // none if the limiter cannot tell
	Plans   []petcat.Plan // that the account may ask for, the next larger one first
	Asked   *petcat.PlanRequest
	Keys    []keyView
	Bans    []petcat.Ban // in force
	Next    petcat.KeyID // of an older page; 0 for none
	Refused []petcat.Refusal
	Once    string // names the next key that the page creates
}

// windowView is a window of the limiter, with its name.
type windowView struct {
	Name string
	ratelimit.WindowState
}

// End returns when the window ends.
func (w windowView) End() time.Time { return time.Unix(w.Reset, 0) }

// keyView is a key as it is now.
type keyView struct {
	petcat.Key

	UsedAt time.Time // zero: never
	Ban    *petcat.Ban
}

func overview(x *exchange) error {
	ctx, a, before := x.r.Context(), x.account, petcat.KeyID(0)
	if id, err := petcat.ParseKeyID(x.value("before")); err == nil {
		before = id
	}
	plans := petcat.Plans()
	at := slices.Index(plans, a.Plan)
	v := overviewView{Plans: slices.Concat(plans[min(at+1, len(plans)-1):], plans[:at])} // other numbers of Enterprise, too
	if d, err := x.Limiter.Peek(ctx, ratelimit.Charge{Account: a.ID, Quota: a.Quota}); err == nil {
		v.Windows = []windowView{{"this minute", d.Minute}, {"today", d.Day}}
	}
	asked, err := x.Store.PlanRequests(ctx, petcat.PlanRequestQuery{Account: a.ID, Limit: 1})
	if err != nil {
		return err
	}
	if len(asked) > 0 {
		v.Asked = &asked[0]
	}
	keys, err := x.Store.KeyPage(ctx, petcat.KeyQuery{Account: a.ID, Before: before, Limit: pageSize + 1})
	if err != nil {
		return err
	}
	if len(keys) > pageSize {
		keys, v.Next = keys[:pageSize], keys[pageSize-1].ID
	}
	if v.Keys, v.Bans, err = x.look(keys); err != nil {
		return err
	}
	if v.Refused, err = x.Store.Refusals(ctx, a.ID); err != nil {
		return err
	}
	once, err := petcat.GenerateToken(x.Random)
	if err != nil {
		return err
	}
	v.Once = once.Secret.Reveal()
	return x.render("overview", view{Title: a.Name, Section: "overview", Data: v})
}

// look returns when keys of the account were used, and which of its keys are banned.
func (x *exchange) look(keys []petcat.Key) (all []keyView, bans []petcat.Ban, err error) {
	bans, err = x.Store.BanPage(x.r.Context(), petcat.BanQuery{Account: x.account.ID, Active: x.now(), Limit: petcat.MaxPage})
	if err != nil {
		return nil, nil, err
	}
	bans = slices.DeleteFunc(bans, func(b petcat.Ban) bool { return !b.Active(x.now()) }) // in shadow mode none refuses anything
	uses, err := x.Store.KeyUses(x.r.Context(), x.account.ID)
	for _, k := range keys {
		v := keyView{Key: k, UsedAt: uses[k.ID]}
		if i := slices.IndexFunc(bans, func(b petcat.Ban) bool { return b.Key == k.ID }); i >= 0 {
			v.Ban = &bans[i]
		}
		all = append(all, v)
	}
	return all, bans, err
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
	return x.goTo("", "asked")
}

// usageView is the last day by the hour, or the last thirty days by the day.
type usageView struct {
	By      petcat.UsageStep
	Begin   time.Time
	Total   petcat.UsageCounts
	Periods []petcat.UsagePeriod // the newest first
}

// usageQuery reads what is asked for.
func (x *exchange) usageQuery() petcat.UsageQuery {
	q, ago := petcat.UsageQuery{Account: x.account.ID, Step: petcat.UsageByHour, To: x.now()}, 24*time.Hour
	if x.value("by") == petcat.UsageByDay.String() {
		q.Step, ago = petcat.UsageByDay, petcat.UsageHours
	}
	q.From = q.Step.Floor(q.To.Add(-ago))
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
