package management_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/management"
)

// account is an account as the API shows it.
type account struct {
	ID        string
	Name      string
	State     string
	Plan      string
	PerMinute int64 `json:"per_minute"`
	PerDay    int64 `json:"per_day"`
}

// TestExternalID: accounts are created with the operator's own number of the customer, found by it, and get
// another one.
func TestExternalID(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.create("/accounts", `{"name":"acme","plan":"free","external_id":"C-1042"}`)
	s.create("/accounts", `{"name":"zoo","plan":"free"}`)
	wantEqual(t, "by external id", []string{"acct_1"}, ids(t, s.get("/accounts?external_id=C-1042")))
	wantEqual(t, "and by name", []string{}, ids(t, s.get("/accounts?external_id=C-1042&name=zoo")))
	s.rejected(409, "conflict", "PATCH", "/accounts/zoo", `{"external_id":"C-1042"}`)
	s.rejected(409, "conflict", "POST", "/accounts", `{"name":"farm","plan":"free","external_id":"C-1042"}`)
	s.rejected(400, "invalid_field", "POST", "/accounts", `{"name":"farm","plan":"free","external_id":"two words"}`)
	s.rejected(400, "invalid_field", "PATCH", "/accounts/zoo", `{"external_id":null}`)
	s.rejected(400, "invalid_field", "GET", "/accounts?external_id=two+words", "")
	s.patch("/accounts/acme", `{"external_id":""}`)
	s.patch("/accounts/zoo", `{"external_id":"C-1042"}`)
	wantEqual(t, "after the change", []string{"acct_2"}, ids(t, s.get("/accounts?external_id=C-1042")))
}

func TestCreateAccount(t *testing.T) {
	t.Parallel()
	s := start(t)
	a := s.create("/accounts", `{"name":"acme","plan":"enterprise","per_minute":10,"per_day":20}`)
	want := account{ID: "acct_1", Name: "acme", State: "open", Plan: "enterprise", PerMinute: 10, PerDay: 20}
	wantEqual(t, "the account", want, decode[account](t, a))
	wantEqual(t, "Location", "/admin/v1/accounts/acct_1", a.header.Get("Location"))
	for _, ref := range []string{"acct_1", "acme"} {
		wantEqual(t, ref, want, decode[account](t, s.get("/accounts/"+ref)))
	}
	s.rejected(409, "conflict", "POST", "/accounts", `{"name":"acme","plan":"free"}`) // the name is taken
	s.rejected(400, "invalid_field", "POST", "/accounts", `{"name":"zoo","plan":"gold"}`)
	s.rejected(400, "missing_field", "POST", "/accounts", `{"name":"zoo"}`)
	s.rejected(400, "invalid_field", "POST", "/accounts", "") // no name
	s.rejected(404, "not_found", "GET", "/accounts/acct_2", "")
	s.rejected(404, "not_found", "GET", "/accounts/acct_01", "")
}

func TestEditAccount(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.create("/accounts", `{"name":"acme","plan":"free"}`)
	const enterprise = `{"plan":"enterprise","per_minute":10,"per_day":20}`
	for _, c := range []struct {
		body string
		want account
	}{
		{`{}`, account{Name: "acme", Plan: "free", PerMinute: 60, PerDay: 1000}},
		{`{"name":"Acme","plan":"pro"}`, account{Name: "Acme", Plan: "pro", PerMinute: 300, PerDay: 10_000}},
		{enterprise, account{Name: "Acme", Plan: "enterprise", PerMinute: 10, PerDay: 20}},
		{`{"per_day":30}`, account{Name: "Acme", Plan: "enterprise", PerMinute: 10, PerDay: 30}},
	} {
		c.want.ID = "acct_1"
		c.want.State = "open"
		wantEqual(t, c.body, c.want, decode[account](t, s.patch("/accounts/acct_1", c.body)))
	}
	s.patch("/accounts/acct_1", `{"plan":"free"}`)
	s.rejected(400, "missing_field", "PATCH", "/accounts/acct_1", `{"plan":"enterprise","per_minute":10}`)
	s.rejected(400, "invalid_field", "PATCH", "/accounts/acct_1", `{"per_minute":10}`)
	s.rejected(400, "invalid_field", "PATCH", "/accounts/acct_1", `{"name":""}`)
}

// interrupted is a store to which another operator writes just before an account is edited.
type interrupted struct {
	management.Store
	other func()
}

func (i interrupted) EditAccount(
	ctx context.Context, by petcat.Author, id petcat.AccountID, e petcat.AccountEdit,
) (petcat.Result[petcat.Account], error) {
	i.other()
	return i.Store.EditAccount(ctx, by, id, e)
}

// TestRenameKeepsConcurrentPlan: a name change does not undo a concurrent plan change.
func TestRenameKeepsConcurrentPlan(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.create("/accounts", `{"name":"acme","plan":"free"}`)
	pro, err := petcat.ParseSubscription("pro", petcat.Quota{}, petcat.Storage{})
	must(t, err)
	s.server = s.serve(interrupted{Store: s.store, other: func() {
		_, err := s.store.EditAccount(t.Context(), petcat.By("cli:other"), 1, petcat.EditPlan(pro))
		must(t, err)
	}})
	want := account{ID: "acct_1", Name: "zoo", State: "open", Plan: "pro", PerMinute: 300, PerDay: 10_000}
	wantEqual(t, "the account", want, decode[account](t, s.patch("/accounts/acme", `{"name":"zoo"}`)))
}

func TestCloseAccount(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.create("/accounts", `{"name":"acme","plan":"free"}`)
	s.create("/accounts/acme/keys", `{}`)
	for range 2 { // closing is idempotent
		closed := decode[account](t, s.remove("/accounts/acct_1"))
		wantEqual(t, "state", "closed", closed.State)
	}
	wantEqual(t, "the key", "revoked", decode[key](t, s.get("/keys/key_1")).State)
	s.rejected(409, "conflict", "POST", "/accounts/acct_1/keys", `{}`)
	s.rejected(409, "conflict", "PATCH", "/accounts/acct_1", `{"name":"zoo"}`)
}

func TestListAccounts(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.create("/accounts", `{"name":"acme","plan":"free"}`)
	s.create("/accounts", `{"name":"pets","plan":"pro"}`)
	s.create("/accounts", `{"name":"Café","plan":"business"}`)
	for _, c := range []struct {
		query string
		want  []string
	}{
		{"", []string{"acct_1", "acct_3", "acct_2"}},
		{"?plan=pro", []string{"acct_2"}},
		{"?limit=1", []string{"acct_1"}},
		{"?limit=1&after=acct_1", []string{"acct_3"}},
		{"?after=acct_2", []string{}},

		{"?name=acme", []string{"acct_1"}},
		{"?name=Cafe%CC%81", []string{"acct_3"}}, // the accent as a separate character
		{"?name=acm", []string{}},
		{"?name=acct_1", []string{}},
		{"?name=acme&plan=pro", []string{}},
		{"?name=acme&limit=1", []string{"acct_1"}},
		{"?name=acme&limit=1&after=acct_1", []string{}},
	} {
		wantEqual(t, c.query, c.want, ids(t, s.get("/accounts"+c.query)))
	}
	for _, query := range []string{"limit=0", "limit=1001", "limit=x", "name=acme&limit=0", "plan=gold"} {
		s.rejected(400, "invalid_field", "GET", "/accounts?"+query, "")
	}
	s.rejected(404, "not_found", "GET", "/accounts?after=acct_4", "")
}

// unavailable is a store whose accounts cannot be read.
type unavailable struct{ management.Store }

func (unavailable) FindAccount(context.Context, string) (petcat.Account, error) {
	return petcat.Account{}, petcat.Errorf(petcat.CodeServiceUnavailable, "the database does not respond")
}

// TestOutageLines: during an outage, a list fails instead of being empty, and the log gets one line per
// second, not one per request.
func TestOutageLines(t *testing.T) {
	s := start(t)
	s.server = s.serve(unavailable{s.store})
	for range 2 {
		s.said.Reset()
		for range 10 {
			a := s.rejected(503, "service_unavailable", "GET", "/accounts?name=acme", "")
			wantEqual(t, "Retry-After", "1", a.header.Get("Retry-After"))
		}
		wantEqual(t, "lines", 1, strings.Count(s.said.String(), "level=WARN"))
		s.clock.Advance(time.Second)
	}
}
