package portal

import (
	"slices"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/pages"
)

// overviewView is the account with a page of its keys.
type overviewView struct {
	pages.KeyList

	Windows  []pages.Window // nil if unknown
	Stored   petcat.Storage
	Plans    []petcat.Plan        // that the account may request, the next larger one first
	Asked    []petcat.PlanRequest // the last request, if any
	Rejected []petcat.Rejection
}

func (p *Portal) overview(x *pages.Exchange) error {
	a := x.Session.Account
	asked, err := p.Store.PlanRequests(x.R.Context(), petcat.PlanRequestQuery{
		Account: a.ID,
		Limit:   1,
	})
	if err != nil {
		return err
	}
	keys, err := x.KeyList(a.ID)
	if err != nil {
		return err
	}
	rejected, err := p.Store.Rejections(x.R.Context(), a.ID)
	if err != nil {
		return err
	}
	return x.Render("overview", pages.View{
		Title:   a.Name,
		Section: "overview",
		Data: overviewView{
			KeyList:  keys,
			Windows:  x.Windows(p.Limiter, a),
			Stored:   p.Holdings(a.ID).Account,
			Plans:    otherPlans(a.Plan),
			Asked:    asked,
			Rejected: rejected,
		},
	})
}

// otherPlans returns the plans that an account may request, the next larger one first. Enterprise is
// always one of them, because it has other numbers for each account.
func otherPlans(current petcat.Plan) []petcat.Plan {
	plans := petcat.Plans()
	at := slices.Index(plans, current)
	larger := plans[min(at+1, len(plans)-1):]
	return slices.Concat(larger, plans[:at])
}

// requestPlan requests another plan.
func (p *Portal) requestPlan(x *pages.Exchange) error {
	n, err := petcat.ParseNewPlanRequest(x.Session.Account.ID, x.Value("plan"), x.Value("note"))
	if err != nil {
		return err
	}
	by, err := x.Author()
	if err != nil {
		return err
	}
	asked, err := p.Store.RequestPlan(x.R.Context(), by, n)
	if err != nil {
		return err
	}
	return x.Made("", asked.Replayed, "asked")
}
