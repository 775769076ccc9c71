package storetest

import (
	"testing"
	"time"

	"petcat"
)

func testPlanRequests(t *testing.T, open Open) {
	f := start(t, open)
	a, b := f.account(t, "zoo"), f.account(t, "shop")
	request := func(account petcat.AccountID, plan, note string) (petcat.PlanRequest, error) {
		n, err := petcat.ParseNewPlanRequest(account, plan, note)
		must(t, n, err)
		return f.RequestPlan(t.Context(), n)
	}
	wantRefused := func(account petcat.AccountID, plan string, want petcat.Code) {
		t.Helper()
		_, err := request(account, plan, "")
		wantCode(t, err, want)
	}
	first, err := request(a.ID, "pro", "we grow\n")
	wantEqual(t, "the result", petcat.PlanRequest{
		ID: 1, Account: a.ID, AccountName: "zoo", Plan: petcat.Pro, Note: "we grow\n", State: petcat.PlanRequestPending, CreatedAt: noon,
	}, must(t, first, err))
	again, err := request(a.ID, "pro", "we grow\n")
	wantEqual(t, "the same request again", first, must(t, again, err))
	wantRefused(a.ID, "business", petcat.CodeInvalidField) // one is pending
	wantRefused(b.ID, "free", petcat.CodeInvalidField)     // already on the plan
	wantRefused(99, "pro", petcat.CodeNotFound)

	f.clock.Advance(time.Minute)
	approved, err := f.ApprovePlanRequest(t.Context(), operator, first.ID, 0, 0)
	first.State, first.DecidedAt, first.DecidedBy = petcat.PlanRequestApproved, f.now(), operator
	wantEqual(t, "approved", first, must(t, approved, err))
	_, err = f.DeclinePlanRequest(t.Context(), operator, first.ID)
	wantCode(t, err, petcat.CodeInvalidField)
	_, err = f.DeclinePlanRequest(t.Context(), operator, 99)
	wantCode(t, err, petcat.CodeNotFound)
	found, err := f.FindAccount(t.Context(), "zoo")
	wantEqual(t, "the account's plan", petcat.Pro, must(t, found, err).Plan)

	large, err := request(a.ID, "enterprise", "")
	must(t, large, err)
	_, err = f.ApprovePlanRequest(t.Context(), operator, large.ID, 0, 0) // without quotas
	wantCode(t, err, petcat.CodeMissingField)
	declined, err := f.DeclinePlanRequest(t.Context(), operator, large.ID)
	must(t, declined, err)
	pending, err := request(b.ID, "pro", "")
	must(t, pending, err)
	list := func(q petcat.PlanRequestQuery, want ...petcat.PlanRequest) {
		t.Helper()
		q.Limit = 2
		got, err := f.PlanRequests(t.Context(), q)
		wantEqual(t, "listed", want, must(t, got, err))
	}
	list(petcat.PlanRequestQuery{}, pending, declined)
	list(petcat.PlanRequestQuery{Before: declined.ID}, first)
	list(petcat.PlanRequestQuery{Account: a.ID}, declined, first)
	list(petcat.PlanRequestQuery{State: petcat.PlanRequestPending}, pending)
	must2(t)(f.CloseAccount(t.Context(), petcat.By(operator), b.ID))
	list(petcat.PlanRequestQuery{State: petcat.PlanRequestPending})
	lines := f.auditLines(t)
	wantEqual(t, "audit entries", []string{
		`customer acct_1 plan_request.create acct_1 {"note":"we grow\n","plan":"pro","request":1}`,
		`cli:ada plan_request.approved acct_1 {"plan":"pro","request":1}`,
		`cli:ada account.set_plan acct_1 {"from":"free","per_day":10000,"per_minute":300,"plan":"pro"}`,
	}, lines[2:5])
}
