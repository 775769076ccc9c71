package petcat

import (
	"context"
	"time"
)

// Limits of a customer's changes. Operators have none.
const (
	// MaxCustomerKeys is the maximum number of keys of an account, if its customer creates one. Keys
	// that are revoked, or expired more than a day ago, do not count. Keys that were created in the
	// last day always count.
	MaxCustomerKeys = 100
	// MaxCustomerChanges is the maximum number of a customer's changes in a day: each adds an entry to
	// the audit log, which keeps all. Revoking keys and signing out are always possible.
	MaxCustomerChanges = 1_000
)

// CheckCustomerKeys returns an [Error] with [CodeInvalidField] if a customer, whose account has n keys
// that count, may not create another one.
func CheckCustomerKeys(n int64) error {
	if n < MaxCustomerKeys {
		return nil
	}
	return Errorf(CodeInvalidField,
		"an account has at most %d keys, including all of the last day; revoke some, and try again tomorrow",
		MaxCustomerKeys)
}

// CheckCustomerChanges returns an [Error] with [CodeTooManyChanges] if a customer may not change
// anything at now. earliest is the time of the earliest of its last [MaxCustomerChanges] changes, zero
// if there are fewer.
func CheckCustomerChanges(earliest, now time.Time) error {
	free := earliest.AddDate(0, 0, 1)
	if earliest.IsZero() || !now.Before(free) {
		return nil
	}
	return Errorf(CodeTooManyChanges,
		"an account makes at most %d changes per day; the next one is possible from %s",
		MaxCustomerChanges, free.UTC().Truncate(time.Second).Add(time.Second).Format(time.RFC3339)).After(free.Sub(now))
}

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

// Decide returns a pending request after a decision. It returns an [Error] with [CodeConflict]
// if the request was decided before.
func (r PlanRequest) Decide(s PlanRequestState, by Actor, now time.Time) (PlanRequest, error) {
	if r.State != PlanRequestPending {
		return PlanRequest{}, Errorf(CodeConflict, "the plan request %d was %s already", r.ID, r.State)
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

// Apply returns the request of an account at now, without its id. pending is the account's pending
// request, the zero value if there is none: Apply returns it if it is the same one. It returns an
// [Error] with [CodeConflict] for another one, or for the plan that the account has already.
func (n NewPlanRequest) Apply(a Account, pending PlanRequest, now time.Time) (PlanRequest, error) {
	if a.Plan == n.plan && a.Plan != Enterprise { // Enterprise may get other numbers
		return PlanRequest{}, Errorf(CodeConflict, "the account is on the %s plan already", a.Plan)
	}
	if pending.ID != 0 && pending.Plan == n.plan && pending.Note == n.note {
		return pending, nil
	}
	if pending.ID != 0 {
		return PlanRequest{}, Errorf(CodeConflict,
			"a request for the %s plan is already pending", pending.Plan)
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

// PlanRequestStore keeps plan requests. Every change commits together with its audit entry. After
// [MaxCustomerChanges], RequestPlan returns an [Error] with [CodeTooManyChanges].
type PlanRequestStore interface {
	// RequestPlan stores a request. An account has at most one pending request. See
	// [NewPlanRequest.Apply].
	RequestPlan(ctx context.Context, by Author, n NewPlanRequest) (Result[PlanRequest], error)
	// PlanRequests returns a page of requests.
	PlanRequests(ctx context.Context, q PlanRequestQuery) ([]PlanRequest, error)
	// ApprovePlanRequest puts the account on the plan. Enterprise needs both quotas; other
	// plans reject them. It returns an [Error] with [CodeNotFound], or with
	// [CodeConflict] if the request was already approved or declined.
	ApprovePlanRequest(ctx context.Context, by Author, a PlanApproval) (Result[PlanRequest], error)
	// DeclinePlanRequest leaves the account's plan unchanged. It returns the same errors as
	// ApprovePlanRequest.
	DeclinePlanRequest(ctx context.Context, by Author, id PlanRequestID) (Result[PlanRequest], error)
}
