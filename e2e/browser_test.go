package e2e

import (
	"net/http"
	"path/filepath"
	"testing"

	"petcat"
)

// TestBrowsers: what a browser sends for a page of another origin, and what it looks at
// before it hands the answer to the page.
func TestBrowsers(t *testing.T) {
	t.Parallel()
	const site = "https://app.example.com"
	data := filepath.Join(t.TempDir(), "data")
	page := withHeader("Origin", site)
	asks := withHeader("Access-Control-Request-Method", "POST")

	s := serve(t, data, "--cors-origins", "http://localhost:3000, "+site)
	key := newCaller(t, data)
	opened := func(a *answer, status int) {
		t.Helper()
		wantStatus(t, a, status)
		if got := a.Header.Get("Access-Control-Allow-Origin"); got != site {
			t.Errorf("%d: the answer is for %q, want %s", status, got, site)
		}
	}
	opened(s.do(http.MethodOptions, "/v1/categories", "", page, asks), http.StatusNoContent)
	opened(s.create(key, "dog", page), http.StatusCreated)
	opened(s.list(key, page), http.StatusOK)
	opened(s.list("wrong", page), http.StatusUnauthorized)
	evil := withHeader("Origin", site+".evil.example")
	wantError(t, s.do(http.MethodOptions, "/v1/categories", "", evil, asks), http.StatusUnauthorized, petcat.CodeMissingAPIKey)
	a := s.list(key, evil)
	wantStatus(t, a, http.StatusOK)
	if got := a.Header.Get("Access-Control-Allow-Origin"); got != "" {
		t.Errorf("an answer for another origin is for %q", got)
	}
	if n := s.metric(`petcat_requests_total{code="204",operation="none"}`); n != 1 {
		t.Errorf("%v preflights are counted, want 1", n)
	}
	s.mustStop()

	s = serve(t, data)
	wantError(t, s.do(http.MethodOptions, "/v1/categories", "", page, asks, withKey(key)), http.StatusMethodNotAllowed, petcat.CodeMethodNotAllowed)
}
