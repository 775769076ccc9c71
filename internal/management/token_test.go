package management_test

import (
	"context"
	"crypto/rand"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/management"
)

// TestViewer: a viewer's token can read everything, but not make changes.
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
		a := s.rejected(401, "invalid_token", "GET", "/nothing", "", "Authorization", header)
		wantEqual(t, header, `Bearer realm="petcat admin"`, a.header.Get("WWW-Authenticate"))
	}
	r := s.request(t.Context(), "GET", "/accounts", "")
	r.Header.Del("Authorization")
	a := s.send(r)
	wantEqual(t, "without a token", 401, a.status)
	wantEqual(t, "without a token", petcat.CodeMissingToken, decode[errorObject](t, a).Code)
	_, err := s.store.RevokeToken(t.Context(), petcat.By(cli), "ci")
	must(t, err)
	s.rejected(401, "revoked_token", "GET", "/accounts", "")
}

// TestGuessing: invalid tokens are counted by address, also if the client disconnects. They do not affect
// valid tokens.
func TestGuessing(t *testing.T) {
	t.Parallel()
	s := start(t)
	valid, guess := s.token, unknownToken(t)
	ctx, disconnect := context.WithCancel(t.Context())
	disconnect()
	s.token = guess
	wantEqual(t, "a disconnected client", 401, s.send(s.request(ctx, "GET", "/accounts", "")).status)
	for range failuresPerMinute - 1 {
		s.rejected(401, "invalid_token", "GET", "/accounts", "")
	}
	a := s.rejected(429, "too_many_failed_attempts", "GET", "/accounts", "")
	wantEqual(t, "Retry-After", "43", a.header.Get("Retry-After"))
	s.token = valid
	s.get("/accounts")
	s.clock.Advance(42 * time.Second)
	s.token = guess
	s.rejected(401, "invalid_token", "GET", "/accounts", "")
}

// unknownToken returns a well-formed token that the service never created.
func unknownToken(t *testing.T) string {
	t.Helper()
	g, err := petcat.GenerateOperatorToken(rand.Reader)
	must(t, err)
	return g.Secret.Reveal()
}

// TestTokenUse: the list of tokens shows when a token was used, with a precision of a minute, and
// identifies a token by its hint without a request.
func TestTokenUse(t *testing.T) {
	t.Parallel()
	s := start(t)
	type token struct {
		Name, Hint string
		UsedAt     *time.Time `json:"last_used_at"`
	}
	used := func() time.Time {
		tokens := decode[[]token](t, s.get("/tokens"))
		if len(tokens) != 1 || tokens[0].Name != "ci" || tokens[0].Hint != s.token[32:36] || tokens[0].UsedAt == nil {
			t.Fatalf("the tokens are %+v", tokens)
		}
		return *tokens[0].UsedAt
	}
	first := used()
	s.clock.Advance(petcat.TokenTouch - time.Second)
	wantEqual(t, "within a minute", first, used())
	s.clock.Advance(time.Second)
	wantEqual(t, "after a minute", first.Add(petcat.TokenTouch), used())
}

// TestCreateToken: the secret of a new token is shown once, and works until the token is revoked.
func TestCreateToken(t *testing.T) {
	t.Parallel()
	s := start(t)
	type token struct {
		Name, Role, Hint, State string
		ExpiresAt               *time.Time `json:"expires_at"`
		Token                   string
	}
	body := `{"name":"billing","role":"viewer","expires_at":"2027-04-01T00:00:00Z"}`
	made := decode[token](t, s.create("/tokens", body))
	want := token{
		Name:      "billing",
		Role:      "viewer",
		Hint:      made.Token[32:36],
		State:     "active",
		ExpiresAt: new(time.Date(2027, 4, 1, 0, 0, 0, 0, time.UTC)),
		Token:     made.Token,
	}
	wantEqual(t, "the new token", want, made)
	wantEqual(t, "the audit entry", "token ci token.create token billing", s.lastAudited())
	want.Token = ""
	wantEqual(t, "in the list", want, decode[[]token](t, s.get("/tokens"))[1])
	s.rejected(409, "conflict", "POST", "/tokens", `{"name":"billing","role":"admin"}`)
	for _, wrong := range []string{
		`{"name":"Billing","role":"viewer"}`, `{"name":"b","role":"root"}`, `{}`,
		`{"name":"b","role":"admin","expires_at":"2027-01-01T00:00:00Z"}`,
	} {
		s.rejected(400, "invalid_field", "POST", "/tokens", wrong)
	}

	admin := s.token
	s.token = made.Token
	s.get("/accounts")
	s.rejected(403, "forbidden", "POST", "/tokens", `{"name":"other","role":"viewer"}`)
	s.token = admin
	want.State = "revoked"
	wantEqual(t, "the revoked token", want, decode[token](t, s.post("/tokens/billing/revoke", "")))
	s.rejected(404, "not_found", "POST", "/tokens/billing/revoke", "")
	s.token = made.Token
	s.rejected(401, "revoked_token", "GET", "/accounts", "")
}

// TestRejectedTokenIsLogged: a rejected token leaves one line per second with its route and address.
func TestRejectedTokenIsLogged(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.token = unknownToken(t)
	for range 3 {
		s.rejected(401, "invalid_token", "GET", "/keys/key_1", "")
	}
	s.clock.Advance(time.Second)
	s.rejected(401, "invalid_token", "GET", "/keys/key_1", "")
	const line = `level=WARN msg="token rejected" request_id="" route="GET /admin/v1/keys/{key}" code=invalid_token address=`
	if n := strings.Count(s.said.String(), line); n != 2 {
		t.Errorf("%d lines, want one for each second:\n%s", n, s.said.String())
	}
}

// TestUnstorableText: text that PostgreSQL cannot store is rejected before any query.
func TestUnstorableText(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.stage()
	for _, r := range management.Routes() {
		for _, bad := range []string{"%00", "%ff"} {
			s.rejected(400, "invalid_field", r.Method, inStage(r.Path)+"?name=a"+bad, `{}`)
			if parameter := regexp.MustCompile(`\{\w+\}`); parameter.MatchString(r.Path) {
				s.rejected(400, "invalid_field", r.Method, parameter.ReplaceAllString(r.Path, bad), `{}`)
			}
		}
	}
	s.rejected(400, "invalid_field", "POST", "/keys/find", `{"text":"a\u0000"}`)
	s.rejected(400, "invalid_field", "POST", "/accounts", `{"name":"zoo","plan":"a\u0000"}`)
}
