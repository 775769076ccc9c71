package store

import (
	"context"
	"time"

	"petcat"
)

// LinkCustomer implements [petcat.CustomerStore].
func (s *Store) LinkCustomer(ctx context.Context, by petcat.Actor, account petcat.AccountID, link petcat.TokenHash) (time.Time, error) {
	const insert = `INSERT INTO customer_links (hash, account_id, ends_at) VALUES (?, ?, ?)`
	return change(ctx, s, Work{Doing: "make a link"}, func(t *Tx) (time.Time, error) {
		if _, err := t.openAccount(account); err != nil {
			return time.Time{}, err
		}
		endsAt := t.now.Add(petcat.LinkLife)
		return endsAt, t.write(entry{by, "account.link", account.String(), nil}, insert, link[:], int64(account), endsAt.UnixMilli())
	})
}

// SignInCustomer implements [petcat.CustomerStore].
func (s *Store) SignInCustomer(ctx context.Context, link, session petcat.TokenHash) (petcat.CustomerSession, error) {
	const (
		query  = `SELECT l.account_id FROM customer_links AS l JOIN accounts AS a ON a.id = l.account_id WHERE l.hash = ? AND l.ends_at > ? AND a.closed_at IS NULL`
		use    = `DELETE FROM customer_links WHERE hash = ?`
		insert = `INSERT INTO customer_sessions (hash, account_id, created_at, seen_at) VALUES (?, ?, ?, ?)`
	)
	return change(ctx, s, Work{Doing: "sign in"}, func(t *Tx) (petcat.CustomerSession, error) {
		id, err := one(t, oneColumn[int64], petcat.ErrLinkInvalid(), query, link[:], t.now.UnixMilli())
		if err == nil {
			err = t.exec(use, link[:])
		}
		if err != nil {
			return petcat.CustomerSession{}, err
		}
		begun := petcat.CustomerSession{Account: petcat.AccountID(id), CreatedAt: t.now, SeenAt: t.now}
		return begun, t.write(entry{begun.Account.Actor(), "account.sign_in", begun.Account.String(), nil},
			insert, session[:], id, t.now.UnixMilli(), t.now.UnixMilli())
	})
}

// FindCustomer implements [petcat.CustomerStore].
func (s *Store) FindCustomer(ctx context.Context, session petcat.TokenHash) (petcat.CustomerSession, error) {
	const query = `SELECT s.account_id, s.created_at, s.seen_at FROM customer_sessions AS s JOIN accounts AS a ON a.id = s.account_id
		WHERE s.hash = ? AND s.seen_at > ? AND a.closed_at IS NULL`
	into := func(s *petcat.CustomerSession) []any {
		return []any{(*int64)(&s.Account), (*moment)(&s.CreatedAt), (*moment)(&s.SeenAt)}
	}
	return read(ctx, s, "find session", func(c Conn) (petcat.CustomerSession, error) {
		return one(c, into, petcat.ErrNotSignedIn(), query, session[:], Now(s.clock).Add(-petcat.CustomerIdle).UnixMilli())
	})
}

// TouchCustomer implements [petcat.CustomerStore].
func (s *Store) TouchCustomer(ctx context.Context, session petcat.TokenHash) error {
	return s.exec(ctx, "touch session", `UPDATE customer_sessions SET seen_at = ? WHERE hash = ?`, Now(s.clock).UnixMilli(), session[:])
}

// SignOutCustomer implements [petcat.CustomerStore].
func (s *Store) SignOutCustomer(ctx context.Context, session petcat.TokenHash) error {
	return s.exec(ctx, "sign out", `DELETE FROM customer_sessions WHERE hash = ?`, session[:])
}

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
			_, err = t.subscribe(by, r.Account, subscription)
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
