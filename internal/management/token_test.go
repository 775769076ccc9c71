package management_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/management"
)

// TestViewer: a viewer's token reads everything and changes nothing.
func TestViewer(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.stage()
	s.token = s.newToken("dashboard", petcat.RoleViewer)
	entries := s.audited()
	for _, r := range management.Routes() {
		if r.Changes {
			s.rejected(403, "forbidden", r.Method, inStage(r.Path), `{}`)
		}
	}
	wantEqual(t, "audit entries", entries, s.audited())
	s.get("/accounts")
	s.post("/keys/find", `{"text":"no key"}`)
}

// TestInvalidToken: all paths need an active token.
func TestInvalidToken(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, header := range []string{"Basic eDp5", "Bearer", "Bearer pct_guess", s.token} {
		a := s.rejected(401, "invalid_api_key", "GET", "/nothing", "", "Authorization", header)
		wantEqual(t, header, `Bearer realm="petcat admin"`, a.header.Get("WWW-Authenticate"))
	}
	r := s.request(t.Context(), "GET", "/accounts", "")
	r.Header.Del("Authorization")
	a := s.send(r)
	wantEqual(t, "without a token", 401, a.status)
	wantEqual(t, "without a token", petcat.CodeMissingAPIKey, decode[errorObject](t, a).Code)
	_, err := s.store.RevokeToken(t.Context(), petcat.By(cli), "ci")
	must(t, err)
	s.rejected(401, "invalid_api_key", "GET", "/accounts", "") // revoked
}

// TestGuessing: invalid tokens are counted by address, also if the client disconnects. They reject no
// valid token.
func TestGuessing(t *testing.T) {
	t.Parallel()
	s := start(t)
	valid, guess := s.token, "pct_"+strings.Repeat("a", 32)
	ctx, disconnect := context.WithCancel(t.Context())
	disconnect()
	s.token = guess
	wantEqual(t, "a disconnected client", 401, s.send(s.request(ctx, "GET", "/accounts", "")).status)
	for range failuresPerMinute - 1 {
		s.rejected(401, "invalid_api_key", "GET", "/accounts", "")
	}
	a := s.rejected(429, "too_many_failed_attempts", "GET", "/accounts", "")
	wantEqual(t, "Retry-After", "43", a.header.Get("Retry-After"))
	s.token = valid
	s.get("/accounts")
	s.clock.Advance(42 * time.Second)
	s.token = guess
	s.rejected(401, "invalid_api_key", "GET", "/accounts", "")
}

// TestTokenIsSecret: no response and no log line contains a token.
func TestTokenIsSecret(t *testing.T) {
	t.Parallel()
	s := start(t)
	valid, guess := s.token, "pct_"+strings.Repeat("a", 32)
	s.get("/accounts")
	s.server = s.serve(unavailable{s.store})
	s.rejected(503, "service_unavailable", "GET", "/accounts/acme", "") // is logged
	s.token = guess
	s.rejected(401, "invalid_api_key", "GET", "/accounts", "")
	for _, token := range []string{valid, guess} {
		if strings.Contains(s.said.String(), token) {
			t.Errorf("a response or the log contains the token %s", token)
		}
	}
}
