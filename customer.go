package petcat

import (
	"context"
	"time"
)

// PlanRequestID identifies a customer's request for another plan: from 1, never reused.
type PlanRequestID int64

// PlanRequestState is the state of a plan request.
type PlanRequestState string

// The states of a plan request.
const (
	PlanRequestPending  PlanRequestState = "pending"
	PlanRequestApproved PlanRequestState = "approved"
	PlanRequestDeclined PlanRequestState = "declined"
)

// PlanRequest is a customer's request for another plan.
type PlanRequest struct {
	ID          PlanRequestID
	Account     AccountID
	AccountName string
	Plan        Plan
	Note        string
	State       PlanRequestState
	CreatedAt   time.Time
	DecidedAt   time.Time // zero while it is pending
	DecidedBy   Actor
}

// Decide returns a pending request after a decision. It returns an [Error] with [CodeInvalidField]
// if the request was decided before.
func (r PlanRequest) Decide(s PlanRequestState, by Actor, now time.Time) (PlanRequest, error) {
	if r.State != PlanRequestPending {
		return PlanRequest{}, Errorf(CodeInvalidField, "the plan request %d was %s already", r.ID, r.State)
	}
	r.State, r.DecidedAt, r.DecidedBy = s, now, by
	return r, nil
}

// NewPlanRequest is a validated request for another plan. Only [ParseNewPlanRequest] makes one.
type NewPlanRequest struct {
	account AccountID
	plan    Plan
	note    string
}

// MaxPlanNote is the maximum length of a plan request's note, in characters.
const MaxPlanNote = 1_000

// ParseNewPlanRequest validates a request. It returns an [Error] with [CodeInvalidField].
func ParseNewPlanRequest(account AccountID, plan, note string) (NewPlanRequest, error) {
	p, err := ParsePlan(plan)
	if err != nil {
		return NewPlanRequest{}, err
	}
	rule := textRule{
		field:    "note",
		called:   "the note",
		maxRunes: MaxPlanNote,
		lines:    true,
		blank:    true,
	}
	return NewPlanRequest{account: account, plan: p, note: note}, rule.check(note)
}

// Account returns the requesting account.
func (n NewPlanRequest) Account() AccountID { return n.account }

// Plan returns the requested plan.
func (n NewPlanRequest) Plan() Plan { return n.plan }

// Note returns the customer's note.
func (n NewPlanRequest) Note() string { return n.note }

// Apply returns the request of an account at now, without its id. pending is the account's pending
// request, the zero value if there is none: Apply returns it if it is the same one. It returns an
// [Error] with [CodeInvalidField] for another one, or for the plan that the account has already.
func (n NewPlanRequest) Apply(a Account, pending PlanRequest, now time.Time) (PlanRequest, error) {
	if a.Plan == n.plan && a.Plan != Enterprise { // Enterprise may get other numbers
		return PlanRequest{}, Errorf(CodeInvalidField, "the account is on the %s plan already", a.Plan)
	}
	if pending.ID != 0 && pending.Plan == n.plan && pending.Note == n.note {
		return pending, nil
	}
	if pending.ID != 0 {
		return PlanRequest{}, Errorf(CodeInvalidField,
			"a request for the %s plan is waiting for an answer already", pending.Plan)
	}
	return PlanRequest{
		Account:     a.ID,
		AccountName: a.Name,
		Plan:        n.plan,
		Note:        n.note,
		State:       PlanRequestPending,
		CreatedAt:   now,
	}, nil
}

// PlanApproval puts the account of a plan request on the requested plan.
type PlanApproval struct {
	Request PlanRequestID
	// PerMinute and PerDay are the quotas of the Enterprise plan, 0 for other plans.
	PerMinute, PerDay int64
}

// PlanRequestQuery selects a page of plan requests, newest first.
type PlanRequestQuery struct {
	Account AccountID        // 0: any
	State   PlanRequestState // "": any
	Before  PlanRequestID    // only lower ids; 0: from the newest
	Limit   int              // from 1 to [MaxPage]
}

// PlanRequestStore keeps plan requests. Every change commits together with its audit entry.
type PlanRequestStore interface {
	// RequestPlan stores a request. An account has at most one pending request. See
	// [NewPlanRequest.Apply].
	RequestPlan(ctx context.Context, by Author, n NewPlanRequest) (Result[PlanRequest], error)
	// PlanRequests returns a page of requests.
	PlanRequests(ctx context.Context, q PlanRequestQuery) ([]PlanRequest, error)
	// ApprovePlanRequest puts the account on the plan. Enterprise needs both quotas; other
	// plans reject them. It returns an [Error] with [CodeNotFound], or with
	// [CodeInvalidField] if the request was already approved or declined.
	ApprovePlanRequest(ctx context.Context, by Author, a PlanApproval) (Result[PlanRequest], error)
	// DeclinePlanRequest leaves the account's plan unchanged. It returns the same errors as
	// ApprovePlanRequest.
	DeclinePlanRequest(ctx context.Context, by Author, id PlanRequestID) (Result[PlanRequest], error)
}
