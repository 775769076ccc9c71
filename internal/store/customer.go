package store

import (
	"context"

	"petcat"
)

const selectPlanRequests = `SELECT r.id, r.account_id, a.name, r.plan, r.note, r.state, r.created_at, r.decided_at, r.decided_by
	FROM plan_requests AS r JOIN accounts AS a ON a.id = r.account_id`

func planRequestInto(r *petcat.PlanRequest) []any {
	return []any{
		(*int64)(&r.ID), (*int64)(&r.Account), &r.AccountName, (*string)(&r.Plan), &r.Note, (*string)(&r.State),
		(*moment)(&r.CreatedAt), (*moment)(&r.DecidedAt), (*string)(&r.DecidedBy),
	}
}

// RequestPlan implements [petcat.PlanRequestStore].
func (s *Store) RequestPlan(ctx context.Context, n petcat.NewPlanRequest) (petcat.PlanRequest, error) {
	const insert = `INSERT INTO plan_requests (id, account_id, plan, note, state, created_at, decided_by) VALUES (?, ?, ?, ?, ?, ?, '')`
	return change(ctx, s, Work{Doing: "request plan"}, func(t *Tx) (petcat.PlanRequest, error) {
		a, err := t.openAccount(n.Account())
		if err == nil && a.Plan == n.Plan() && a.Plan != petcat.Enterprise {
			err = invalid("the account is on the %s plan already", a.Plan)
		}
		if err != nil {
			return petcat.PlanRequest{}, err
		}
		pending, err := one(t, planRequestInto, nil, selectPlanRequests+` WHERE r.account_id = ? AND r.state = 'pending'`, int64(a.ID))
		if err != nil || pending.ID != 0 && pending.Plan == n.Plan() && pending.Note == n.Note() {
			return pending, err
		}
		if pending.ID != 0 {
			return pending, invalid("a request for the %s plan is waiting for an answer already", pending.Plan)
		}
		t.sequences.PlanRequest++
		r := petcat.PlanRequest{
			ID: petcat.PlanRequestID(t.sequences.PlanRequest), Account: a.ID, AccountName: a.Name, Plan: n.Plan(), Note: n.Note(),
			State: petcat.PlanRequestPending, CreatedAt: t.now,
		}
		e := entry{a.ID.Actor(), "plan_request.create", a.ID.String(), detail{"request": int64(r.ID), "plan": r.Plan, "note": r.Note}}
		return r, t.write(e, insert, int64(r.ID), int64(r.Account), string(r.Plan), r.Note, string(r.State), r.CreatedAt.UnixMilli())
	})
}

// PlanRequests implements [petcat.PlanRequestStore].
func (s *Store) PlanRequests(ctx context.Context, q petcat.PlanRequestQuery) ([]petcat.PlanRequest, error) {
	var c conditions
	c.when(q.Account != 0, `r.account_id = ?`, int64(q.Account))
	c.when(q.State != "", `r.state = ?`, string(q.State))
	c.when(q.Before != 0, `r.id < ?`, int64(q.Before))
	query, args := c.page(selectPlanRequests, `r.id DESC`, q.Limit)
	return list(ctx, s, "read plan requests", planRequestInto, query, args...)
}

// ApprovePlanRequest implements [petcat.PlanRequestStore].
func (s *Store) ApprovePlanRequest(ctx context.Context, by petcat.Actor, id petcat.PlanRequestID, perMinute, perDay int64) (petcat.PlanRequest, error) {
	return change(ctx, s, Work{Doing: "approve plan request"}, func(t *Tx) (petcat.PlanRequest, error) {
		r, err := t.decide(by, id, petcat.PlanRequestApproved)
		if err != nil {
			return r, err
		}
		subscription, err := petcat.ParseSubscription(string(r.Plan), perMinute, perDay)
		if err == nil {
			_, err = t.editAccount(by, r.Account, petcat.EditPlan(subscription))
		}
		return r, err
	})
}

// DeclinePlanRequest implements [petcat.PlanRequestStore].
func (s *Store) DeclinePlanRequest(ctx context.Context, by petcat.Actor, id petcat.PlanRequestID) (petcat.PlanRequest, error) {
	return change(ctx, s, Work{Doing: "decline plan request"}, func(t *Tx) (petcat.PlanRequest, error) {
		return t.decide(by, id, petcat.PlanRequestDeclined)
	})
}

// decide ends a pending plan request.
func (t *Tx) decide(by petcat.Actor, id petcat.PlanRequestID, state petcat.PlanRequestState) (petcat.PlanRequest, error) {
	const update = `UPDATE plan_requests SET state = ?, decided_at = ?, decided_by = ? WHERE id = ?`
	r, err := one(t, planRequestInto, notFound("there is no plan request %d", id), selectPlanRequests+` WHERE r.id = ?`, int64(id))
	if err == nil && r.State != petcat.PlanRequestPending {
		err = invalid("the plan request %d was %s already", id, r.State)
	}
	if err != nil {
		return r, err
	}
	r.State, r.DecidedAt, r.DecidedBy = state, t.now, by
	e := entry{by, "plan_request." + string(state), r.Account.String(), detail{"request": int64(id), "plan": r.Plan}}
	return r, t.write(e, update, string(state), t.now.UnixMilli(), string(by), int64(id))
}
