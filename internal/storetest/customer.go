package storetest

import (
	"testing"
	"time"

	"github.com/petcat-api/petcat"
)

func testPlanRequests(t *testing.T, open Open) {
	f := start(t, open)
	a, b := f.account(t, "zoo"), f.account(t, "shop")
	request := func(account petcat.AccountID, plan, note string) (petcat.PlanRequest, error) {
		n := must(petcat.ParseNewPlanRequest(account, plan, note))
		return value(f.RequestPlan(t.Context(), petcat.By(account.Actor()), n))
	}
	wantRejected := func(account petcat.AccountID, plan string, want petcat.Code) {
		t.Helper()
		_, err := request(account, plan, "")
		wantCode(t, err, want)
	}
	first := must(request(a.ID, "pro", "we grow\n"))
	wantEqual(t, "the result", petcat.PlanRequest{
		ID:          1,
		Account:     a.ID,
		AccountName: "zoo",
		Plan:        petcat.Pro,
		Note:        "we grow\n",
		State:       petcat.PlanRequestPending,
		CreatedAt:   noon,
	}, first)
	again := must(request(a.ID, "pro", "we grow\n"))
	wantEqual(t, "the same request again", first, again)
	wantRejected(a.ID, "business", petcat.CodeConflict) // one is pending
	wantRejected(b.ID, "free", petcat.CodeConflict)     // already on the plan
	wantRejected(99, "pro", petcat.CodeNotFound)

	f.clock.Advance(time.Minute)
	approve := func(a petcat.PlanApproval) (petcat.PlanRequest, error) {
		return value(f.ApprovePlanRequest(t.Context(), petcat.By(operator), a))
	}
	decline := func(id petcat.PlanRequestID) (petcat.PlanRequest, error) {
		return value(f.DeclinePlanRequest(t.Context(), petcat.By(operator), id))
	}
	approved := must(approve(petcat.PlanApproval{Request: first.ID}))
	first.State, first.DecidedAt, first.DecidedBy = petcat.PlanRequestApproved, f.now(), operator
	wantEqual(t, "approved", first, approved)
	_, err := decline(first.ID)
	wantCode(t, err, petcat.CodeConflict)
	_, err = decline(99)
	wantCode(t, err, petcat.CodeNotFound)
	found := must(f.FindAccount(t.Context(), "zoo"))
	wantEqual(t, "the account's plan", petcat.Pro, found.Plan)

	large := must(request(a.ID, "enterprise", ""))
	_, err = approve(petcat.PlanApproval{Request: large.ID}) // without quotas
	wantCode(t, err, petcat.CodeMissingField)
	declined := must(decline(large.ID))
	pending := must(request(b.ID, "pro", ""))
	list := func(q petcat.PlanRequestQuery, want ...petcat.PlanRequest) {
		t.Helper()
		q.Limit = 2
		got := must(f.PlanRequests(t.Context(), q))
		wantEqual(t, "listed", want, got)
	}
	list(petcat.PlanRequestQuery{}, pending, declined)
	list(petcat.PlanRequestQuery{Before: declined.ID}, first)
	list(petcat.PlanRequestQuery{Account: a.ID}, declined, first)
	list(petcat.PlanRequestQuery{State: petcat.PlanRequestPending}, pending)
	must(f.CloseAccount(t.Context(), petcat.By(operator), b.ID))
	list(petcat.PlanRequestQuery{State: petcat.PlanRequestPending})
	pending.State, pending.DecidedAt, pending.DecidedBy = petcat.PlanRequestDeclined, f.now(), operator
	list(petcat.PlanRequestQuery{Account: b.ID}, pending)
	lines := f.auditLines(t)
	wantEqual(t, "audit entries", []string{
		`customer acct_1 plan_request.create acct_1 {"note":"we grow\n","plan":"pro","request":1}`,
		`cli:ada plan_request.approved acct_1 {"plan":"pro","request":1}`,
		`cli:ada account.set_plan acct_1 {"from":"free","max_bytes":20971520,"max_categories":100000,` +
			`"per_day":10000,"per_minute":300,"plan":"pro"}`,
	}, lines[2:5])
	wantEqual(t, "audit entries of the closed account", []string{
		`cli:ada plan_request.declined acct_2 {"plan":"pro","request":3}`,
		`cli:ada account.close acct_2 {"revoked_keys":0}`,
	}, lines[len(lines)-2:])
}

// testApprovedStorage: other quotas for an account on the Enterprise plan leave its storage as agreed.
func testApprovedStorage(t *testing.T, open Open) {
	f := start(t, open)
	agreed := petcat.Storage{Categories: 2_000_000, Bytes: 1 << 30}
	s := must(petcat.ParseSubscription("enterprise", petcat.Quota{
		PerMinute: 1_000,
		PerDay:    9_000,
	}, agreed))
	account := must(f.CreateAccount(t.Context(), petcat.By(operator), petcat.NewAccount{
		Name:         "zoo",
		Subscription: s,
	})).Value.ID
	n := must(petcat.ParseNewPlanRequest(account, "enterprise", "more"))
	asked := must(f.RequestPlan(t.Context(), petcat.By(account.Actor()), n)).Value
	approval := petcat.PlanApproval{Request: asked.ID, PerMinute: 2_000, PerDay: 10_000}
	must(f.ApprovePlanRequest(t.Context(), petcat.By(operator), approval))
	got := must(f.FindAccount(t.Context(), "zoo"))
	wantEqual(t, "the quota", petcat.Quota{PerMinute: 2_000, PerDay: 10_000}, got.Quota)
	wantEqual(t, "the storage", agreed, got.Storage)
}

// testCustomerChanges: a customer makes a limited number of changes in a day. Revoking keys is always
// possible, and operators are not limited.
func testCustomerChanges(t *testing.T, open Open) {
	f := start(t, open)
	account := f.account(t, "zoo").ID
	k, _ := f.key(t, account, 1)
	customer := petcat.By(account.Actor())
	edit := func(by petcat.Author, label string) error {
		e := must(petcat.ParseKeyEdit(&label, nil, nil))
		_, err := f.EditKey(t.Context(), by, k.ID, e)
		return err
	}
	must(0, edit(customer, "a"))
	f.clock.Advance(time.Hour)
	for range (petcat.MaxCustomerChanges - 2) / 2 {
		must(0, edit(customer, "b"))
		must(0, edit(customer, "a"))
	}
	entries := len(f.auditLines(t))
	must(0, edit(customer, "a")) // has no effect
	wantEqual(t, "entries of an edit that changes nothing", entries, len(f.auditLines(t)))
	must(0, edit(customer, "b"))

	wantTooMany := func(err error) {
		t.Helper()
		wantCode(t, err, petcat.CodeTooManyChanges)
		if err != nil {
			wantEqual(t, "the time until the next change", 23*time.Hour, petcat.Public(err).RetryAfter)
		}
	}
	wantTooMany(edit(customer, "a"))
	n, _, err := generator(2).NewKey(account, petcat.KeyTerms{})
	must(n, err)
	_, err = f.CreateKey(t.Context(), customer, n)
	wantTooMany(err)
	r, _, err := generator(3).Rotation(k.ID, time.Hour)
	must(r, err)
	_, err = f.RotateKey(t.Context(), customer, r)
	wantTooMany(err)
	_, err = f.ChangeKey(t.Context(), customer, k.ID, petcat.DisableKey)
	wantTooMany(err)
	p := must(petcat.ParseNewPlanRequest(account, "pro", ""))
	_, err = f.RequestPlan(t.Context(), customer, p)
	wantTooMany(err)

	must(0, edit(petcat.By(operator), "c"))
	must(f.CreateKey(t.Context(), petcat.By(operator), n))
	must(f.ChangeKey(t.Context(), customer, 2, petcat.RevokeKey))
	must(f.SignOutEverywhere(t.Context(), customer, petcat.Subject{Account: account}))
	f.clock.Advance(23 * time.Hour)
	wantCode(t, edit(customer, "a"), petcat.CodeTooManyChanges) // the revocation counts
	f.clock.Advance(time.Hour)
	must(0, edit(customer, "a"))
}
