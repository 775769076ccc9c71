package store

import (
	"context"
	"time"

	"github.com/petcat-api/petcat"
)

// countCustomersKeys counts the keys that were created after $2, or that were not revoked and did not
// expire before $2.
const countCustomersKeys = `
	SELECT count(*) FROM api_keys
	WHERE account_id = $1
		AND (created_at > $2 OR revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2))`

// checkCustomerKeys returns an error if by is the customer of an account that has too many keys.
func (t *Tx) checkCustomerKeys(by petcat.Actor, account petcat.AccountID) error {
	if by != account.Actor() {
		return nil
	}
	yesterday := t.now.AddDate(0, 0, -1).UnixMilli()
	n, err := queryRow(t, scanNumber, nil, countCustomersKeys, int64(account), yesterday)
	if err != nil {
		return err
	}
	return petcat.CheckCustomerKeys(n)
}

// selectLastChange finds the time of an actor's change that $2 newer ones follow. Sign-ins are no
// changes.
const selectLastChange = `
	SELECT at FROM audit
	WHERE actor = $1 AND action <> 'account.sign_in'
	ORDER BY sequence DESC LIMIT 1 OFFSET $2`

func scanTime(row Row) (at time.Time, err error) {
	err = row.Scan((*moment)(&at))
	return at, err
}

// checkCustomerChanges returns an error if by is the customer of an account that has made too many
// changes.
func (t *Tx) checkCustomerChanges(by petcat.Actor, account petcat.AccountID) error {
	if by != account.Actor() {
		return nil
	}
	earliest, err := queryRow(t, scanTime, nil, selectLastChange, string(by), petcat.MaxCustomerChanges-1)
	if err != nil {
		return err
	}
	return petcat.CheckCustomerChanges(earliest, t.now)
}

// selectPlanRequests has the columns that scanPlanRequest reads.
const selectPlanRequests = `
	SELECT r.id, r.account_id, a.name, r.plan, r.note, r.state, r.created_at, r.decided_at, r.decided_by
	FROM plan_requests AS r JOIN accounts AS a ON a.id = r.account_id`

func scanPlanRequest(row Row) (r petcat.PlanRequest, err error) {
	err = row.Scan(
		&r.ID,
		&r.Account,
		&r.AccountName,
		&r.Plan,
		&r.Note,
		&r.State,
		(*moment)(&r.CreatedAt),
		(*moment)(&r.DecidedAt),
		&r.DecidedBy,
	)
	return r, err
}

const selectPlanRequest = selectPlanRequests + ` WHERE r.id = $1`

func findPlanRequest(q Querier, id petcat.PlanRequestID) (petcat.PlanRequest, error) {
	return queryRow(q, scanPlanRequest, notFound("there is no plan request %d", id), selectPlanRequest, id)
}

const selectPendingPlanRequest = selectPlanRequests + ` WHERE r.account_id = $1 AND r.state = 'pending'`

// pendingPlanRequest returns the pending request of an account, the zero value if there is none.
func pendingPlanRequest(q Querier, account petcat.AccountID) (petcat.PlanRequest, error) {
	return queryRow(q, scanPlanRequest, nil, selectPendingPlanRequest, account)
}

// planRequestFilter returns the conditions of a query.
func planRequestFilter(q petcat.PlanRequestQuery) *filter {
	f := &filter{}
	if q.Account != 0 {
		f.and(`r.account_id = ` + f.arg(q.Account))
	}
	if q.State != "" {
		f.and(`r.state = ` + f.arg(q.State))
	}
	if q.Before != 0 {
		f.and(`r.id < ` + f.arg(q.Before))
	}
	return f
}

// PlanRequests implements [petcat.PlanRequestStore].
func (s *Store) PlanRequests(ctx context.Context, q petcat.PlanRequestQuery) ([]petcat.PlanRequest, error) {
	f := planRequestFilter(q)
	query := selectPlanRequests + f.where() + ` ORDER BY r.id DESC LIMIT ` + f.arg(q.Limit)
	return queryRows(s.reader(ctx, "read plan requests"), scanPlanRequest, query, f.args...)
}

const insertPlanRequest = `
	INSERT INTO plan_requests (id, account_id, plan, note, state, created_at, decided_by)
	VALUES ($1, $2, $3, $4, $5, $6, '')`

// RequestPlan implements [petcat.PlanRequestStore].
func (s *Store) RequestPlan(
	ctx context.Context, by petcat.Author, n petcat.NewPlanRequest,
) (r petcat.Result[petcat.PlanRequest], err error) {
	const action = "plan_request.create"
	tx, err := s.begin(ctx, Work{Doing: "request plan"})
	if err != nil {
		return r, err
	}
	defer tx.End(&err)
	if id, err := tx.replays(by, action); id != 0 || err != nil {
		return replayed(tx, id, err, findPlanRequest)
	}
	a, err := tx.openAccount(n.Account())
	if err != nil {
		return r, err
	}
	pending, err := pendingPlanRequest(tx, a.ID)
	if err != nil {
		return r, err
	}
	asked, err := n.Apply(a, pending, tx.now)
	if err != nil {
		return r, err
	}
	r.Value = asked
	if asked.ID != 0 {
		return r, tx.Commit() // without writes
	}
	if err := tx.checkCustomerChanges(by.Actor, a.ID); err != nil {
		return r, err
	}
	if err := tx.insertPlanRequest(by.Actor, &asked); err != nil {
		return r, err
	}
	return petcat.Result[petcat.PlanRequest]{Value: asked}, tx.commitOnce(by, action, int64(asked.ID))
}

// insertPlanRequest assigns an id to a plan request and inserts it.
func (t *Tx) insertPlanRequest(by petcat.Actor, r *petcat.PlanRequest) error {
	t.sequences.PlanRequest++
	r.ID = petcat.PlanRequestID(t.sequences.PlanRequest)
	err := t.Run(insertPlanRequest,
		r.ID,
		r.Account,
		r.Plan,
		r.Note,
		r.State,
		r.CreatedAt.UnixMilli(),
	)
	if err != nil {
		return err
	}
	d := detail{"request": int64(r.ID), "plan": r.Plan, "note": r.Note}
	if err := t.log(by, "plan_request.create", r.Account.String(), d); err != nil {
		return err
	}
	d["account"] = r.Account.String()
	return t.emit(petcat.EventPlanRequested, d, nil)
}

// ApprovePlanRequest implements [petcat.PlanRequestStore].
func (s *Store) ApprovePlanRequest(
	ctx context.Context, by petcat.Author, a petcat.PlanApproval,
) (r petcat.Result[petcat.PlanRequest], err error) {
	const action = "plan_request.approved"
	tx, err := s.begin(ctx, Work{Doing: "approve plan request"})
	if err != nil {
		return r, err
	}
	defer tx.End(&err)
	if id, err := tx.replays(by, action); id != 0 || err != nil {
		return replayed(tx, id, err, findPlanRequest)
	}
	pending, err := findPlanRequest(tx, a.Request)
	if err != nil {
		return r, err
	}
	approved, err := tx.decide(by.Actor, pending, petcat.PlanRequestApproved)
	if err != nil {
		return r, err
	}
	edit := petcat.AccountEdit{Plan: &petcat.PlanEdit{
		Plan:      &approved.Plan,
		PerMinute: &a.PerMinute,
		PerDay:    &a.PerDay,
	}}
	if _, err := tx.editAccount(by.Actor, approved.Account, edit); err != nil {
		return r, err
	}
	return petcat.Result[petcat.PlanRequest]{Value: approved}, tx.commitOnce(by, action, int64(approved.ID))
}

// DeclinePlanRequest implements [petcat.PlanRequestStore].
func (s *Store) DeclinePlanRequest(
	ctx context.Context, by petcat.Author, id petcat.PlanRequestID,
) (r petcat.Result[petcat.PlanRequest], err error) {
	const action = "plan_request.declined"
	tx, err := s.begin(ctx, Work{Doing: "decline plan request"})
	if err != nil {
		return r, err
	}
	defer tx.End(&err)
	if id, err := tx.replays(by, action); id != 0 || err != nil {
		return replayed(tx, id, err, findPlanRequest)
	}
	pending, err := findPlanRequest(tx, id)
	if err != nil {
		return r, err
	}
	declined, err := tx.decide(by.Actor, pending, petcat.PlanRequestDeclined)
	if err != nil {
		return r, err
	}
	return petcat.Result[petcat.PlanRequest]{Value: declined}, tx.commitOnce(by, action, int64(id))
}

const decidePlanRequest = `UPDATE plan_requests SET state = $1, decided_at = $2, decided_by = $3 WHERE id = $4`

// decide approves or declines a pending plan request.
func (t *Tx) decide(
	by petcat.Actor, pending petcat.PlanRequest, s petcat.PlanRequestState,
) (petcat.PlanRequest, error) {
	r, err := pending.Decide(s, by, t.now)
	if err != nil {
		return r, err
	}
	if err := t.Run(decidePlanRequest, r.State, r.DecidedAt.UnixMilli(), r.DecidedBy, r.ID); err != nil {
		return r, err
	}
	d := detail{"request": int64(r.ID), "plan": r.Plan}
	return r, t.log(by, "plan_request."+string(s), r.Account.String(), d)
}
