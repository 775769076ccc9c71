package console

import (
	"petcat"
	"petcat/internal/pages"
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

func requests(x *exchange) error {
	v := requestsView{All: x.Value("all") != ""}
	q := petcat.PlanRequestQuery{State: petcat.PlanRequestPending, Before: petcat.PlanRequestID(id(x.Value("before"))), Limit: pages.Size + 1}
	if v.All {
		q.State = ""
	}
	v.Paged = q.Before != 0
	page, err := x.Store.PlanRequests(x.R.Context(), q)
	if err != nil {
		return err
	}
	page, v.Next = pages.Cut(page)
	of, err := summaries(x, page, func(r petcat.PlanRequest) petcat.AccountID { return r.Account })
	if err != nil {
		return err
	}
	for i, r := range page {
		v.Requests = append(v.Requests, requestView{r, of[i]})
	}
	return x.Render("requests", pages.View{Title: "Plan requests", Section: "requests", Data: v})
}

// approvePlan puts the account on the requested plan.
func approvePlan(x *exchange) error {
	perMinute, perDay, err := x.numbers()
	if err != nil {
		return err
	}
	by, err := x.Author()
	if err != nil {
		return err
	}
	approved, err := x.Store.ApprovePlanRequest(x.R.Context(), by, petcat.PlanApproval{
		Request:   x.request(),
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

func declinePlan(x *exchange) error {
	by, err := x.Author()
	if err != nil {
		return err
	}
	declined, err := x.Store.DeclinePlanRequest(x.R.Context(), by, x.request())
	if err != nil {
		return err
	}
	return x.Made("requests", declined.Replayed, "declined")
}

// request returns the id of the plan request in the path.
func (x *exchange) request() petcat.PlanRequestID {
	return petcat.PlanRequestID(id(x.R.PathValue("request")))
}
