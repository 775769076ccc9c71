package console

import (
	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/pages"
)

// requestsView is a page of the pending plan requests, or of all.
type requestsView struct {
	All      bool
	Requests []requestView
	Paged    bool
	Next     *petcat.PlanRequest
}

// requestView is a plan request with its account.
type requestView struct {
	petcat.PlanRequest

	Of petcat.AccountSummary
}

func (c *Console) requests(x *pages.Exchange) error {
	q := petcat.PlanRequestQuery{
		State:  petcat.PlanRequestPending,
		Before: petcat.PlanRequestID(id(x.Value("before"))),
		Limit:  pages.Size + 1,
	}
	all := x.Value("all") != ""
	if all {
		q.State = ""
	}
	page, err := c.Store.PlanRequests(x.R.Context(), q)
	if err != nil {
		return err
	}
	page, next := pages.Cut(page)
	ids := make([]petcat.AccountID, len(page))
	for i, r := range page {
		ids[i] = r.Account
	}
	accounts, err := c.Store.AccountSummaries(x.R.Context(), ids)
	if err != nil {
		return err
	}
	v := requestsView{
		All:   all,
		Paged: q.Before != 0,
		Next:  next,
	}
	for i, r := range page {
		v.Requests = append(v.Requests, requestView{PlanRequest: r, Of: accounts[i]})
	}
	return x.Render("requests", pages.View{
		Title:   "Plan requests",
		Section: "requests",
		Data:    v,
	})
}

// approvePlan puts the account on the requested plan.
func (c *Console) approvePlan(x *pages.Exchange) error {
	perMinute, perDay, err := quotas(x)
	if err != nil {
		return err
	}
	by, err := x.Author()
	if err != nil {
		return err
	}
	approved, err := c.Store.ApprovePlanRequest(x.R.Context(), by, petcat.PlanApproval{
		Request:   requestInPath(x),
		PerMinute: perMinute,
		PerDay:    perDay,
	})
	if petcat.CodeOf(err) == petcat.CodeMissingField {
		return petcat.Public(err).In("per_minute")
	}
	if err != nil {
		return err
	}
	return x.Made("requests", approved.Replayed, "approved")
}

func (c *Console) declinePlan(x *pages.Exchange) error {
	by, err := x.Author()
	if err != nil {
		return err
	}
	declined, err := c.Store.DeclinePlanRequest(x.R.Context(), by, requestInPath(x))
	if err != nil {
		return err
	}
	return x.Made("requests", declined.Replayed, "declined")
}

// requestInPath returns the id of the plan request in the path.
func requestInPath(x *pages.Exchange) petcat.PlanRequestID {
	return petcat.PlanRequestID(id(x.R.PathValue("request")))
}
