package management_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"petcat"
	"petcat/internal/apicheck"
	"petcat/internal/clientnet"
	"petcat/internal/clocktest"
	"petcat/internal/datadir"
	"petcat/internal/management"
	"petcat/internal/ratelimit"
	"petcat/internal/sqlite"
	"petcat/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2027, 3, 14, 12, 0, 18, 0, time.UTC)

// service is the management API with a real store. It checks each response against the OpenAPI
// document.
type service struct {
	t      *testing.T
	clock  *clocktest.Manual
	store  *store.Store
	server http.Handler
	token  string       // for the next requests
	said   bytes.Buffer // the log and all responses
}

func start(t *testing.T) *service {
	t.Helper()
	s := &service{t: t, clock: clocktest.NewManual(noon)}
	dir, err := datadir.Open(t.TempDir(), true)
	must(t, err)
	db, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir, Environment: petcat.Production, Clock: s.clock, Serving: true})
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	s.store = store.New(db, s.clock)
	s.server = s.serve(s.store)
	s.token = s.newToken("ci", "admin")
	return s
}

// serve returns the management API on a store.
func (s *service) serve(store petcat.ManagementStore) http.Handler {
	return management.New(management.Options{
		Store: store, Keys: petcat.KeyGenerator{Environment: petcat.Production, Random: rand.Reader}, Failures: ratelimit.NewBucket[clientnet.Net](s.clock, 600, ratelimit.MaxAddresses),
		Backups:      func(context.Context) ([]any, error) { return []any{}, nil },
		CustomerLink: func(token petcat.Secret) string { return "https://api.example.com/account#" + token.Reveal() },
		Clock:        s.clock, Logger: slog.New(slog.NewTextHandler(&s.said, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *service) newToken(name, role string) string {
	s.t.Helper()
	generated, err := petcat.GenerateOperatorToken(rand.Reader)
	must(s.t, err)
	_, err = s.store.CreateToken(s.t.Context(), petcat.By("cli:test"), petcat.NewToken{
		Name: petcat.OperatorName(name), Role: petcat.Role(role), Hash: generated.Hash,
	})
	must(s.t, err)
	return generated.Secret.Reveal()
}

// answer is a response.
type answer struct {
	status int
	header http.Header
	object map[string]any   // the body, if it is an object
	list   []map[string]any // the body, if it is an array
}

func (a answer) text(name string) string { s, _ := a.object[name].(string); return s }

// call sends a request, and checks the response against the document.
func (s *service) call(method, path, body string, headers ...string) answer {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), method, "/admin/v1"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+s.token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.server.ServeHTTP(w, r)
	a := answer{status: w.Code, header: w.Header()}
	text := w.Body.Bytes()
	fmt.Fprintln(&s.said, a.header, w.Body)
	if bytes.HasPrefix(text, []byte("[")) {
		must(s.t, json.Unmarshal(text, &a.list))
	} else {
		must(s.t, json.Unmarshal(text, &a.object))
	}
	res := w.Result()
	res.Request = r
	if err := apicheck.Management(strings.TrimPrefix(r.Pattern, "/admin/v1"), res, text); err != nil {
		s.t.Errorf("%s %s: %v", method, path, err)
	}
	return a
}

// want checks the status of a response, and the code of an error.
func (s *service) want(a answer, status int, code string) answer {
	s.t.Helper()
	if a.status != status || code != "" && a.text("code") != code {
		s.t.Fatalf("status %d, want %d %s: %v", a.status, status, code, a.object)
	}
	return a
}

// TestAccountsAndKeys calls all operations on an account and its keys.
func TestAccountsAndKeys(t *testing.T) {
	t.Parallel()
	s := start(t)
	body := `{"name":"acme","plan":"free"}`
	a := s.want(s.call("POST", "/accounts", body, "Idempotency-Key", "k1"), 201, "")
	again := s.want(s.call("POST", "/accounts", body, "Idempotency-Key", "k1"), 201, "")
	if again.text("id") != a.text("id") || again.header.Get("Idempotent-Replayed") != "true" || a.header.Get("Location") != "/admin/v1/accounts/"+a.text("id") {
		t.Errorf("%v, replayed %v %v", a, again.object, again.header)
	}
	s.want(s.call("POST", "/accounts", `{"name":"other","plan":"free"}`, "Idempotency-Key", "k1"), 422, "idempotency_key_reused")
	s.want(s.call("POST", "/accounts", body), 400, "invalid_field")
	path := "/accounts/" + a.text("id")
	if got := s.want(s.call("PATCH", path, `{"name":"Acme","plan":"pro"}`), 200, ""); got.text("name") != "Acme" || got.object["per_minute"] != 300.0 {
		t.Error(got.object)
	}
	s.want(s.call("PATCH", path, `{"plan":"enterprise","per_minute":10}`), 400, "missing_field")
	s.want(s.call("PATCH", path, `{"plan":"enterprise","per_minute":10,"per_day":20}`), 200, "")
	if got := s.want(s.call("PATCH", path, `{"per_day":30}`), 200, ""); got.object["per_minute"] != 10.0 || got.object["per_day"] != 30.0 {
		t.Error(got.object)
	}

	s.want(s.call("PATCH", path, `{"per_minute":0}`), 400, "missing_field")

	k := s.want(s.call("POST", path+"/keys", `{"label":"backend"}`, "Idempotency-Key", "k2"), 201, "")
	secret, key := k.text("key"), "/keys/"+k.text("id")
	if again := s.want(s.call("POST", path+"/keys", `{"label":"backend"}`, "Idempotency-Key", "k2"), 201, ""); again.text("id") != k.text("id") || again.object["key"] != nil {
		t.Error(again.object)
	}
	if got := s.want(s.call("POST", "/keys/find", `{"text":"found `+secret+` in a log"}`), 200, ""); len(got.list) != 1 || got.list[0]["id"] != k.text("id") {
		t.Error(got.list)
	}
	if got := s.want(s.call("GET", "/keys?hint="+k.text("hint"), ""), 200, ""); len(got.list) != 1 {
		t.Error(got.list)
	}
	if got := s.want(s.call("PATCH", key, `{"label":"front","expires_at":"2027-04-01T00:00:00Z"}`), 200, ""); got.text("label") != "front" || got.text("expires_at") != "2027-04-01T00:00:00Z" {
		t.Error(got.object)
	}
	if got := s.want(s.call("PATCH", key, `{"expires_at":null}`), 200, ""); got.object["expires_at"] != nil || got.text("label") != "front" {
		t.Error(got.object)
	}
	for _, step := range []struct{ do, state string }{{"disable", "disabled"}, {"enable", "active"}} {
		if got := s.want(s.call("POST", key+"/"+step.do, ""), 200, ""); got.text("state") != step.state {
			t.Error(got.object)
		}
	}
	successor := s.want(s.call("POST", key+"/rotate", `{"overlap":"1h"}`), 201, "")
	if successor.text("key") == "" || s.call("GET", key, "").text("successor") != successor.text("id") {
		t.Error(successor.object)
	}
	s.want(s.call("POST", key+"/revoke", ""), 200, "")
	if got := s.want(s.call("GET", path+"/keys?limit=1", ""), 200, ""); len(got.list) != 1 || !strings.Contains(got.header.Get("Link"), "after=key_2") {
		t.Error(got.list, got.header)
	}
	if got := s.want(s.call("GET", path+"/keys?limit=1&after=key_2", ""), 200, ""); len(got.list) != 1 || got.list[0]["id"] != "key_1" {
		t.Error(got.list)
	}
	if got := s.want(s.call("POST", path+"/links", ""), 201, ""); !strings.HasPrefix(got.text("url"), "https://api.example.com/account#") {
		t.Error(got.object)
	}
	s.want(s.call("DELETE", path, ""), 200, "")
	s.want(s.call("POST", path+"/keys", `{}`), 400, "invalid_field")
	if got := s.want(s.call("GET", "/audit?limit=2", ""), 200, ""); got.list[0]["action"] != "account.close" || got.list[0]["actor"] != "token ci" {
		t.Error(got.list)
	}
}

// unavailable is a store whose accounts cannot be read.
type unavailable struct{ petcat.ManagementStore }

func (unavailable) FindAccount(context.Context, string) (petcat.Account, error) {
	return petcat.Account{}, petcat.Errorf(petcat.CodeServiceUnavailable, "the database does not respond")
}

// TestUnknownAccount checks that an unavailable database is not reported as an empty list.
func TestUnknownAccount(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.server = s.serve(unavailable{s.store})
	s.want(s.call("GET", "/accounts?name=acme", ""), 503, "service_unavailable")
}

// TestOtherOperations calls the operations on bans, usage, plans, nodes and backups.
func TestOtherOperations(t *testing.T) {
	t.Parallel()
	s := start(t)
	id := s.want(s.call("POST", "/accounts", `{"name":"acme","plan":"free"}`), 201, "").text("id")
	s.want(s.call("POST", "/accounts", `{"name":"pets","plan":"pro"}`), 201, "")
	for query, count := range map[string]int{
		"":                               2,
		"?name=acme":                     1,
		"?name=acm":                      0,
		"?plan=pro":                      1,
		"?name=acme&plan=pro":            0,
		"?name=acme&limit=1":             1,
		"?name=acme&limit=1&after=" + id: 0,
		"?limit=1":                       1,
		"?limit=1&after=" + id:           1,
	} {
		if got := s.want(s.call("GET", "/accounts"+query, ""), 200, ""); len(got.list) != count {
			t.Errorf("%s: %v", query, got.list)
		}
	}
	s.want(s.call("GET", "/accounts?name=acme&limit=0", ""), 400, "invalid_field")
	s.want(s.call("POST", "/accounts/acme/keys", `{}`), 201, "")
	must(t, s.store.SaveBan(t.Context(), petcat.Ban{Key: 1, Account: 1, Level: 1, StartedAt: noon, EndsAt: noon.Add(time.Minute), EarlyRetries: 101}))
	must(t, s.store.AddUsage(t.Context(), petcat.UsageBatch{Node: "a", Number: 1, SeenAt: noon, Counts: []petcat.UsageCount{
		{Account: 1, Hour: noon.Unix() / 3600, UsageCounts: petcat.UsageCounts{Requests: 7, MinuteRefused: 3}},
	}, Refusals: []petcat.Refusal{{Account: 1, Key: 1, Operation: petcat.OpListCategories, Code: petcat.CodeRateLimitExceeded, Status: 429, Count: 3, First: noon, Last: noon, RequestID: "r"}}}))
	asked, err := petcat.ParseNewPlanRequest(1, "pro", "we grow")
	must(t, err)
	_, err = s.store.RequestPlan(t.Context(), petcat.By("customer acct_1"), asked)
	must(t, err)
	_, err = s.store.Heartbeat(t.Context(), petcat.Node{ID: "n", Label: "web-1", Version: "1.0.0", State: "ready", Since: noon})
	must(t, err)

	if got := s.want(s.call("GET", "/bans", ""), 200, ""); len(got.list) != 1 || got.list[0]["key"] != "key_1" {
		t.Error(got.list)
	}
	s.want(s.call("GET", "/bans/key_1", ""), 200, "")
	if got := s.want(s.call("DELETE", "/bans/key_1", ""), 200, ""); got.text("lifted_by") != "token ci" {
		t.Error(got.object)
	}
	s.want(s.call("DELETE", "/bans/key_1", ""), 404, "not_found")
	if got := s.want(s.call("GET", "/accounts/acme/usage?by=hour&from=2027-03-14", ""), 200, ""); got.object["total"].(map[string]any)["requests"] != 7.0 {
		t.Error(got.object)
	}
	for _, wrong := range []string{"by=week", "from=tomorrow", "from=2027-03-14&to=2027-03-14", "by=hour&from=2027-01-01"} {
		s.want(s.call("GET", "/accounts/acme/usage?"+wrong, ""), 400, "invalid_field")
	}
	if got := s.want(s.call("GET", "/accounts/acme/refusals", ""), 200, ""); len(got.list) != 1 || got.list[0]["count"] != 3.0 {
		t.Error(got.list)
	}
	if got := s.want(s.call("GET", "/usage/top", ""), 200, ""); len(got.list) != 1 || got.list[0]["name"] != "acme" {
		t.Error(got.list)
	}
	if got := s.want(s.call("GET", "/plan-requests", ""), 200, ""); len(got.list) != 1 || got.list[0]["note"] != "we grow" {
		t.Error(got.list)
	}
	if got := s.want(s.call("POST", "/plan-requests/1/approve", ""), 200, ""); got.text("state") != "approved" || s.call("GET", "/accounts/acme", "").text("plan") != "pro" {
		t.Error(got.object)
	}
	s.want(s.call("POST", "/plan-requests/1/decline", ""), 400, "invalid_field")
	if got := s.want(s.call("GET", "/plans", ""), 200, ""); len(got.list) != 4 {
		t.Error(got.list)
	}
	s.want(s.call("POST", "/nodes/web-1/drain", ""), 200, "")
	if got := s.want(s.call("GET", "/nodes", ""), 200, ""); len(got.list) != 1 || got.list[0]["drained"] != true {
		t.Error(got.list)
	}
	s.want(s.call("POST", "/nodes/web-1/resume", ""), 200, "")
	s.want(s.call("GET", "/backups", ""), 200, "")
	s.want(s.call("GET", "/keys/key_1", ""), 200, "")
	for _, wrong := range []string{"/keys/key_01", "/keys/key_+1", "/bans/key_01", "/audit?after=01", "/audit?after=%2B1"} {
		s.want(s.call("GET", wrong, ""), 400, "invalid_field")
	}
	s.want(s.call("GET", "/accounts/acct_01", ""), 404, "not_found")
	s.want(s.call("GET", "/nothing", ""), 404, "not_found")
	if got := s.want(s.call("PUT", "/accounts", ""), 405, "method_not_allowed"); got.header.Get("Allow") != "GET, POST" {
		t.Error(got.header)
	}
	s.want(s.call("POST", "/accounts", `{"name":1}`), 400, "invalid_body")
}

// TestTokens checks that requests need a token, that a viewer cannot change anything, and that
// guessing is rate-limited. No response and no log line contains a token.
func TestTokens(t *testing.T) {
	t.Parallel()
	s := start(t)
	admin, viewer := s.token, s.newToken("dashboard", "viewer")
	s.token = viewer
	s.want(s.call("GET", "/accounts", ""), 200, "")
	s.want(s.call("POST", "/keys/find", `{"text":"no key"}`), 200, "")
	s.want(s.call("POST", "/accounts", `{"name":"acme","plan":"free"}`), 403, "forbidden")
	_, err := s.store.RevokeToken(t.Context(), petcat.By("cli:test"), "dashboard")
	must(t, err)
	if got := s.want(s.call("GET", "/nothing", ""), 401, "invalid_api_key"); got.header.Get("WWW-Authenticate") == "" {
		t.Error(got.header)
	}
	s.want(s.call("GET", "/accounts", "", "Authorization", "Basic eDp5"), 401, "invalid_api_key")
	s.token = "pct_guess"
	for range 600 - 2 {
		s.want(s.call("GET", "/accounts", ""), 401, "invalid_api_key")
	}
	if got := s.want(s.call("GET", "/accounts", ""), 429, "too_many_failed_attempts"); got.header.Get("Retry-After") != "43" {
		t.Error(got.header)
	}
	s.token = admin
	s.want(s.call("GET", "/accounts", ""), 200, "") // a valid token
	s.clock.Advance(42 * time.Second)
	ctx, disconnect := context.WithCancel(t.Context())
	disconnect()
	r := httptest.NewRequestWithContext(ctx, "GET", "/admin/v1/accounts", nil)
	r.Header.Set("Authorization", "Bearer pct_"+strings.Repeat("a", 32))
	w := httptest.NewRecorder()
	s.server.ServeHTTP(w, r)
	if w.Code != 401 {
		t.Errorf("a disconnected client gets %d %s", w.Code, w.Body)
	}
	s.token = admin
	s.want(s.call("GET", "/accounts", ""), 200, "")
	for _, token := range []string{admin, viewer, "pct_guess"} {
		if strings.Contains(s.said.String(), token) {
			t.Errorf("a response or the log contains the token %s", token)
		}
	}
}
