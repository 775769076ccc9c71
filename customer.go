package petcat

import (
	"context"
	"slices"
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
	if !slices.Contains(Plans(), Plan(plan)) {
		return NewPlanRequest{}, Errorf(CodeInvalidField, "there is no plan %.100q; the plans are free, pro, business and enterprise", plan)
	}
	err := (textRule{field: "note", called: "the note", maxRunes: MaxPlanNote, lines: true, blank: true}).check(note)
	return NewPlanRequest{account: account, plan: Plan(plan), note: note}, err
}

// Account returns the requesting account.
func (n NewPlanRequest) Account() AccountID { return n.account }

// Plan returns the requested plan.
func (n NewPlanRequest) Plan() Plan { return n.plan }

// Note returns the customer's note.
func (n NewPlanRequest) Note() string { return n.note }

// PlanRequestQuery selects a page of plan requests, newest first.
type PlanRequestQuery struct {
	Account AccountID        // 0: any
	State   PlanRequestState // "": any
	Before  PlanRequestID    // only lower ids; 0: from the newest
	Limit   int              // from 1 to [MaxPage]
}

// PlanRequestStore keeps plan requests. Every change commits together with its audit entry.
type PlanRequestStore interface {
	// RequestPlan stores a request, with the customer as its actor. An account has at most
	// one pending request: repeating it returns it unchanged. A different one, or the plan
	// that the account already has, is an [Error] with [CodeInvalidField].
	RequestPlan(ctx context.Context, n NewPlanRequest) (PlanRequest, error)
	// PlanRequests returns a page of requests.
	PlanRequests(ctx context.Context, q PlanRequestQuery) ([]PlanRequest, error)
	// ApprovePlanRequest puts the account on the plan. Enterprise needs both numbers; other
	// plans reject them. It returns an [Error] with [CodeNotFound], or with
	// [CodeInvalidField] if the request was already approved or declined.
	ApprovePlanRequest(ctx context.Context, by Actor, id PlanRequestID, perMinute, perDay int64) (PlanRequest, error)
	// DeclinePlanRequest leaves the account's plan unchanged. It returns the same errors as
	// ApprovePlanRequest.
	DeclinePlanRequest(ctx context.Context, by Actor, id PlanRequestID) (PlanRequest, error)
}
