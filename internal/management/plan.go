package management

import (
	"context"

	"github.com/petcat-api/petcat"
)

// PlanRequestStore is the part of [petcat.PlanRequestStore] that the API calls.
type PlanRequestStore interface {
	PlanRequests(ctx context.Context, q petcat.PlanRequestQuery) ([]petcat.PlanRequest, error)
	ApprovePlanRequest(
		ctx context.Context, by petcat.Author, a petcat.PlanApproval,
	) (petcat.Result[petcat.PlanRequest], error)
	DeclinePlanRequest(
		ctx context.Context, by petcat.Author, id petcat.PlanRequestID,
	) (petcat.Result[petcat.PlanRequest], error)
}

// listPlans handles GET /plans.
func (*API) listPlans(c *call) error { return okAll(c, petcat.Plans()) }

// everyState is the value of the parameter state that selects every state.
const everyState = "all"

// planRequestState returns the requested state, by default pending, "" for all.
func (c *call) planRequestState() (petcat.PlanRequestState, error) {
	switch state := petcat.PlanRequestState(c.query("state")); state {
	case "":
		return petcat.PlanRequestPending, nil
	case everyState:
		return "", nil
	case petcat.PlanRequestPending, petcat.PlanRequestApproved, petcat.PlanRequestDeclined:
		return state, nil
	default:
		return "", petcat.Errorf(petcat.CodeInvalidField, "state must be pending, approved, declined or all").In("state")
	}
}

// listPlanRequests handles GET /plan-requests.
func (a *API) listPlanRequests(c *call) error {
	limit, before, err := page(c, parseID)
	if err != nil {
		return err
	}
	state, err := c.planRequestState()
	if err != nil {
		return err
	}
	requests, err := a.Store.PlanRequests(c.ctx(), petcat.PlanRequestQuery{
		State:  state,
		Before: petcat.PlanRequestID(before),
		Limit:  limit,
	})
	if err != nil {
		return err
	}
	if len(requests) == limit {
		c.linkNext(requests[limit-1].ID)
	}
	return okAll(c, requests)
}

// approvalJSON is the body with the quotas of the Enterprise plan.
type approvalJSON struct {
	PerMinute int64 `json:"per_minute"`
	PerDay    int64 `json:"per_day"`
}

// approvePlanRequest handles POST /plan-requests/{id}/approve.
func (a *API) approvePlanRequest(c *call) error {
	id, err := parseID(c.r.PathValue("id"))
	if err != nil {
		return err
	}
	var body approvalJSON
	if err := c.read(&body); err != nil {
		return err
	}
	by, err := c.author(body)
	if err != nil {
		return err
	}
	approved, err := a.Store.ApprovePlanRequest(c.ctx(), by, petcat.PlanApproval{
		Request:   petcat.PlanRequestID(id),
		PerMinute: body.PerMinute,
		PerDay:    body.PerDay,
	})
	if err != nil {
		return err
	}
	c.replayed(approved.Replayed)
	return c.ok(approved.Value)
}

// declinePlanRequest handles POST /plan-requests/{id}/decline.
func (a *API) declinePlanRequest(c *call) error {
	id, err := parseID(c.r.PathValue("id"))
	if err != nil {
		return err
	}
	by, err := c.author(nil)
	if err != nil {
		return err
	}
	declined, err := a.Store.DeclinePlanRequest(c.ctx(), by, petcat.PlanRequestID(id))
	if err != nil {
		return err
	}
	c.replayed(declined.Replayed)
	return c.ok(declined.Value)
}
