package management_test

import (
	"testing"

	"github.com/petcat-api/petcat"
)

// planRequest is a plan request as the API shows it.
type planRequest struct {
	ID        int64
	Account   string
	Plan      string
	Note      string
	State     string
	DecidedBy string `json:"decided_by"`
}

// requestPlan requests a plan for the account acct_1.
func (s *service) requestPlan(plan string) {
	s.t.Helper()
	asked, err := petcat.ParseNewPlanRequest(1, plan, "we grow")
	must(s.t, err)
	_, err = s.store.RequestPlan(s.t.Context(), petcat.By("customer acct_1"), asked)
	must(s.t, err)
}

func TestListPlans(t *testing.T) {
	t.Parallel()
	s := start(t)
	type plan struct {
		Plan      string
		PerMinute int64 `json:"per_minute"`
		PerDay    int64 `json:"per_day"`
	}
	want := []plan{
		{"free", 60, 1_000},
		{"pro", 300, 10_000},
		{"business", 1_000, 100_000},
		{"enterprise", 0, 0},
	}
	wantEqual(t, "the plans", want, decode[[]plan](t, s.get("/plans")))
}

func TestApprovePlanRequest(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.create("/accounts", `{"name":"acme","plan":"free"}`)
	s.requestPlan("enterprise")
	want := planRequest{ID: 1, Account: "acct_1", Plan: "enterprise", Note: "we grow", State: "pending"}
	wantEqual(t, "the pending requests", []planRequest{want}, decode[[]planRequest](t, s.get("/plan-requests")))
	s.rejected(400, "missing_field", "POST", "/plan-requests/1/approve", "")

	want.State, want.DecidedBy = "approved", "token ci"
	approved := s.post("/plan-requests/1/approve", `{"per_minute":10,"per_day":20}`)
	wantEqual(t, "the approved request", want, decode[planRequest](t, approved))
	wantEqual(t, "the pending requests", []planRequest{}, decode[[]planRequest](t, s.get("/plan-requests")))
	account := decode[account](t, s.get("/accounts/acme"))
	wantEqual(t, "the account's plan", "enterprise", account.Plan)
	s.rejected(409, "conflict", "POST", "/plan-requests/1/decline", "") // decided already
	s.rejected(404, "not_found", "POST", "/plan-requests/2/approve", "")
	s.rejected(400, "invalid_field", "POST", "/plan-requests/01/approve", "")
}

func TestDeclinePlanRequest(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.create("/accounts", `{"name":"acme","plan":"free"}`)
	s.requestPlan("pro")
	declined := decode[planRequest](t, s.post("/plan-requests/1/decline", ""))
	wantEqual(t, "state", "declined", declined.State)
	for query, want := range map[string]int{
		"":                0,
		"?state=pending":  0,
		"?state=approved": 0,
		"?state=declined": 1,
		"?state=all":      1,
	} {
		wantEqual(t, query, want, len(decode[[]planRequest](t, s.get("/plan-requests"+query))))
	}
	s.rejected(400, "invalid_field", "GET", "/plan-requests?state=lost", "")
	wantEqual(t, "the account's plan", "free", decode[account](t, s.get("/accounts/acme")).Plan)
}
