package management_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petcat"
	"petcat/internal/management"
)

// stage creates an account with a key and a pending plan request, and a node.
func (s *service) stage() {
	s.t.Helper()
	s.want(s.call("POST", "/accounts", `{"name":"acme","plan":"free"}`), 201, "")
	s.want(s.call("POST", "/accounts/acme/keys", `{}`), 201, "")
	asked, err := petcat.ParseNewPlanRequest(1, "pro", "we grow")
	must(s.t, err)
	_, err = s.store.RequestPlan(s.t.Context(), petcat.By("customer acct_1"), asked)
	must(s.t, err)
	_, err = s.store.Heartbeat(s.t.Context(), petcat.Node{ID: "n", Label: "web-1", State: "ready", Since: noon})
	must(s.t, err)
}

// audited returns the number of audit entries.
func (s *service) audited() (n int) {
	s.t.Helper()
	must(s.t, s.store.EachAuditEntry(s.t.Context(), petcat.AuditQuery{}, func(petcat.AuditEntry) error {
		n++
		return nil
	}))
	return n
}

// inStage returns a path with the parameters of the stage.
func inStage(path string) string {
	return strings.NewReplacer("{account}", "acme", "{key}", "key_1", "{id}", "1", "{label}", "web-1").Replace(path)
}

// posts returns the body of a request to each path with a POST that changes something.
func posts() map[string]string {
	return map[string]string{
		"/accounts":                   `{"name":"zoo","plan":"enterprise","per_minute":5,"per_day":6}`,
		"/accounts/{account}/keys":    `{"label":"backend","expires_at":"2028-01-01T00:00:00Z","read_only":true}`,
		"/accounts/{account}/links":   "",
		"/keys/{key}/rotate":          `{"overlap":"1h"}`,
		"/keys/{key}/disable":         "",
		"/keys/{key}/enable":          "",
		"/keys/{key}/revoke":          "",
		"/plan-requests/{id}/approve": "",
		"/plan-requests/{id}/decline": "",
		"/nodes/{label}/drain":        "",
		"/nodes/{label}/resume":       "",
	}
}

// readPost is the POST that changes nothing: it keeps keys out of URLs.
const readPost = "/keys/find"

// TestRepeatedPost: every POST with an Idempotency-Key is made once. A repeated one gets the same
// response, without a secret.
func TestRepeatedPost(t *testing.T) {
	t.Parallel()
	for _, path := range slices.Sorted(maps.Keys(management.Routes())) {
		if !slices.Contains(management.Routes()[path], http.MethodPost) || path == readPost {
			continue
		}
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			body, known := posts()[path]
			if !known {
				t.Fatal("add the path to posts")
			}
			s := start(t)
			s.stage()
			first := s.call("POST", inStage(path), body, "Idempotency-Key", "k1")
			if first.status >= 300 || first.header.Get("Idempotent-Replayed") != "" {
				t.Fatalf("%d %v %v", first.status, first.header, first.object)
			}
			entries := s.audited()
			s.clock.Advance(time.Second)
			again := s.call("POST", inStage(path), body, "Idempotency-Key", "k1")
			delete(first.object, "key")
			delete(first.object, "url")
			if diff := cmp.Diff(first.object, again.object); diff != "" || again.status != first.status {
				t.Errorf("repeated: %d, want %d (-first +repeated):\n%s", again.status, first.status, diff)
			}
			if got := again.header.Get("Idempotent-Replayed"); got != "true" {
				t.Errorf("Idempotent-Replayed: %q", got)
			}
			if got, want := again.header.Get("Location"), first.header.Get("Location"); got != want {
				t.Errorf("Location: %q, want %q", got, want)
			}
			other := s.call("POST", "/accounts", `{"name":"shop","plan":"free"}`, "Idempotency-Key", "k1")
			s.want(other, 422, "idempotency_key_reused")
			if got := s.audited(); got != entries {
				t.Errorf("repeating it added %d audit entries", got-entries)
			}
			for _, invalid := range []string{"", "a b", strings.Repeat("a", petcat.MaxIdempotencyKey+1)} {
				s.want(s.call("POST", inStage(path), body, "Idempotency-Key", invalid), 400, "invalid_field")
			}
		})
	}
}

// TestSearchIgnoresIdempotencyKey: a search by POST changes nothing, so it is not stored.
func TestSearchIgnoresIdempotencyKey(t *testing.T) {
	t.Parallel()
	s := start(t)
	for range 2 {
		a := s.want(s.call("POST", readPost, `{"text":"no key"}`, "Idempotency-Key", "k1"), 200, "")
		if got := a.header.Get("Idempotent-Replayed"); got != "" {
			t.Errorf("Idempotent-Replayed: %q", got)
		}
	}
}

// TestIdempotencyKeyOfOtherMethods: a change by another method takes no Idempotency-Key, and is
// rejected with one, because it would be ignored.
func TestIdempotencyKeyOfOtherMethods(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.stage()
	entries, tested := s.audited(), 0
	for path, methods := range management.Routes() {
		for _, method := range methods {
			if method == http.MethodGet || method == http.MethodPost {
				continue
			}
			tested++
			for _, key := range []string{"k1", ""} {
				a := s.want(s.call(method, inStage(path), `{}`, "Idempotency-Key", key), 400, "invalid_field")
				want := method + " takes no Idempotency-Key; leave it out"
				if !strings.HasPrefix(a.text("message"), want) {
					t.Errorf("%s %s: %s", method, path, a.text("message"))
				}
			}
		}
	}
	if tested < 4 {
		t.Errorf("tested %d operations", tested)
	}
	if got := s.audited(); got != entries {
		t.Errorf("rejected requests added %d audit entries", got-entries)
	}
}

// TestTwoIdempotencyKeys: a request with two keys is rejected.
func TestTwoIdempotencyKeys(t *testing.T) {
	t.Parallel()
	s := start(t)
	body := strings.NewReader(`{"name":"acme","plan":"free"}`)
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/admin/v1/accounts", body)
	r.Header = http.Header{"Authorization": {"Bearer " + s.token}, "Idempotency-Key": {"k1", "k2"}}
	w := httptest.NewRecorder()
	s.server.ServeHTTP(w, r)
	if w.Code != 400 || !strings.Contains(w.Body.String(), "at most one Idempotency-Key") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
