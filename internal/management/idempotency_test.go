package management_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/management"
)

// stage creates an account with a key, a pending plan request and a category, a node, an operator, the
// token old, and a webhook.
func (s *service) stage() {
	s.t.Helper()
	s.acme(`{}`)
	s.requestPlan("pro")
	s.addNode()
	s.addOperator()
	s.newToken("old", petcat.RoleViewer)
	s.stageCategory()
	s.stageWebhook()
}

// audited returns the number of audit entries.
func (s *service) audited() int {
	s.t.Helper()
	all, err := s.store.AuditPage(s.t.Context(), petcat.AuditQuery{Newest: petcat.MaxPage})
	must(s.t, err)
	return len(all)
}

// inStage returns a path with the parameters of the stage.
func inStage(path string) string {
	return strings.NewReplacer(
		"{account}", "acme",
		"{key}", "key_1",
		"{id}", "1",
		"{label}", "web-1",
		"{category}", "1",
		"{pet}", "1",
		"{operator}", "ada",
		"{token}", "old",
		"{webhook}", "1",
	).Replace(path)
}

// posts returns the body of a request to each path with a POST that changes something.
func posts() map[string]string {
	return map[string]string{
		"/accounts":                    `{"name":"zoo","plan":"enterprise","per_minute":5,"per_day":6}`,
		"/accounts/{account}/keys":     `{"label":"backend","expires_at":"2028-01-01T00:00:00Z","read_only":true}`,
		"/accounts/{account}/links":    "",
		"/accounts/{account}/purge":    "",
		"/accounts/{account}/sign-out": "",
		"/keys/{key}/rotate":           `{"overlap":"1h"}`,
		"/keys/{key}/disable":          "",
		"/keys/{key}/enable":           "",
		"/keys/{key}/revoke":           "",
		"/plan-requests/{id}/approve":  "",
		"/plan-requests/{id}/decline":  "",
		"/operators":                   `{"name":"bob","role":"admin"}`,
		"/tokens":                      `{"name":"deploy","role":"admin","expires_at":"2028-01-01T00:00:00Z"}`,
		"/tokens/{token}/revoke":       "",
		"/webhooks":                    `{"url":"https://example.com/hook","types":["key.banned"]}`,
		"/webhooks/{webhook}/rotate":   `{"overlap":"1h"}`,
		"/webhooks/{webhook}/test":     "",
		"/webhooks/{webhook}/enable":   "",
		"/webhooks/{webhook}/disable":  "",
		"/log-level":                   `{"level":"debug","for":"30m"}`,
		"/nodes/{label}/drain":         "",
		"/nodes/{label}/resume":        "",
	}
}

// TestRepeatedPost: every POST with an Idempotency-Key is made once. A repeated one gets the same
// response, without a secret.
func TestRepeatedPost(t *testing.T) {
	t.Parallel()
	for _, route := range management.Routes() {
		if route.Method != http.MethodPost || !route.Changes {
			continue
		}
		t.Run(route.Path, func(t *testing.T) {
			t.Parallel()
			body, known := posts()[route.Path]
			if !known {
				t.Fatal("add the path to posts")
			}
			testRepeatedPost(t, inStage(route.Path), body)
		})
	}
}

func testRepeatedPost(t *testing.T, path, body string) {
	t.Helper()
	s := start(t)
	s.stage()
	first := s.call("POST", path, body, "Idempotency-Key", "k1")
	if first.status >= 300 {
		t.Fatalf("%d %s", first.status, first.body)
	}
	wantEqual(t, "Idempotent-Replayed of the first", "", first.header.Get("Idempotent-Replayed"))
	entries := s.audited()

	s.clock.Advance(time.Second)
	again := s.want(first.status, "POST", path, body, "Idempotency-Key", "k1")
	want := decode[map[string]any](t, first)
	delete(want, "key")
	delete(want, "token")
	delete(want, "secret")
	if strings.HasSuffix(path, "/links") {
		delete(want, "url")
	}
	wantEqual(t, "the repeated response", want, decode[map[string]any](t, again))
	wantEqual(t, "Idempotent-Replayed", "true", again.header.Get("Idempotent-Replayed"))
	wantEqual(t, "Location", first.header.Get("Location"), again.header.Get("Location"))

	other := `{"name":"shop","plan":"free"}`
	s.rejected(422, "idempotency_key_reused", "POST", "/accounts", other, "Idempotency-Key", "k1")
	for _, invalid := range []string{"", "a b", strings.Repeat("a", petcat.MaxIdempotencyKey+1)} {
		s.rejected(400, "invalid_field", "POST", path, body, "Idempotency-Key", invalid)
	}
	wantEqual(t, "audit entries", entries, s.audited())
}

// TestRepeatedPostAfterExpiry: a repeated creation of a key gets the first response even if the key has
// expired since.
func TestRepeatedPostAfterExpiry(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.acme(`{}`)
	body := `{"expires_at":"2027-03-14T12:30:00Z"}`
	first := s.want(201, "POST", "/accounts/acme/keys", body, "Idempotency-Key", "k1")
	s.clock.Advance(time.Hour)
	again := s.want(201, "POST", "/accounts/acme/keys", body, "Idempotency-Key", "k1")
	wantEqual(t, "Idempotent-Replayed", "true", again.header.Get("Idempotent-Replayed"))
	wantEqual(t, "the key", decode[key](t, first).ID, decode[key](t, again).ID)
	wantEqual(t, "state", "expired", decode[key](t, again).State)
	s.rejected(400, "invalid_field", "POST", "/accounts/acme/keys", body, "Idempotency-Key", "k2")
}

// TestSearchIgnoresIdempotencyKey: a search by POST is not a change, so it is not stored.
func TestSearchIgnoresIdempotencyKey(t *testing.T) {
	t.Parallel()
	s := start(t)
	for range 2 {
		a := s.want(200, "POST", "/keys/find", `{"text":"no key"}`, "Idempotency-Key", "k1")
		wantEqual(t, "Idempotent-Replayed", "", a.header.Get("Idempotent-Replayed"))
	}
}

// TestIdempotencyKeyOfOtherMethods: a change by another method is rejected with an Idempotency-Key,
// because it would be ignored.
func TestIdempotencyKeyOfOtherMethods(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.stage()
	entries, tested := s.audited(), 0
	for _, route := range management.Routes() {
		if route.Method == http.MethodPost || !route.Changes {
			continue
		}
		tested++
		for _, key := range []string{"k1", ""} {
			a := s.rejected(400, "invalid_field", route.Method, inStage(route.Path), `{}`, "Idempotency-Key", key)
			want := route.Method + " takes no Idempotency-Key; leave it out"
			if got := decode[errorObject](t, a).Message; !strings.HasPrefix(got, want) {
				t.Errorf("%s %s: %s", route.Method, route.Path, got)
			}
		}
	}
	if tested < 4 {
		t.Errorf("tested %d operations", tested)
	}
	wantEqual(t, "audit entries", entries, s.audited())
}

// TestTwoIdempotencyKeys: a request with two keys is rejected.
func TestTwoIdempotencyKeys(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.request(t.Context(), "POST", "/accounts", `{"name":"acme","plan":"free"}`)
	r.Header["Idempotency-Key"] = []string{"k1", "k2"}
	want := errorObject{petcat.CodeInvalidField, "send at most one Idempotency-Key header", 400}
	wantEqual(t, "the error", want, decode[errorObject](t, s.send(r)))
}
