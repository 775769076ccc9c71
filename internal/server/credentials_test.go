package server

import (
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clocktest"
)

func newToken() petcat.GeneratedToken { return must(petcat.GenerateToken(rand.Reader)) }

// TestFailuresRejectNoValidCredential: after too many failed attempts from an address, wrong credentials
// get 429, and valid ones from the same address work, at all doors.
func TestFailuresRejectNoValidCredential(t *testing.T) {
	t.Parallel()
	n := startTestNode(t, func(o *Options) {
		o.Settings.CustomerPages = true
		o.Clock = clocktest.NewManual(time.Date(2027, 3, 14, 12, 0, 18, 0, time.UTC))
	})
	key, secret := newKey(t, n.Store())
	customer, operator := petcat.Subject{Account: key.Account}, petcat.Subject{Operator: "ada"}
	must(n.Store().CreateOperator(
		t.Context(),
		petcat.By("cli:ada"),
		operator.Operator,
		petcat.RoleAdmin,
		newToken().Hash,
	))
	link := func(of petcat.Subject) string {
		g := newToken()
		must(n.Store().CreateLink(t.Context(), petcat.By("cli:ada"), of, g.Hash))
		return g.Secret.Reveal()
	}
	session := func(of petcat.Subject) string {
		opened, g := must(petcat.ParseToken(link(of))), newToken()
		must(n.Store().SignIn(t.Context(), of.Realm(), opened, g.Hash))
		return g.Secret.Reveal()
	}
	program := must(petcat.GenerateOperatorToken(rand.Reader))
	must(n.Store().CreateToken(t.Context(), petcat.By("cli:ada"), petcat.NewToken{
		Name: "ci",
		Role: petcat.RoleViewer,
		Hash: program.Hash,
	}))

	api, admin := n.api.Handler, n.admin.Handler
	send := func(to http.Handler, method, path, header, value, form string) int {
		r := httptest.NewRequestWithContext(t.Context(), method, "http://localhost"+path, strings.NewReader(form))
		r.RemoteAddr = "127.0.0.1:1"
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set(header, value)
		w := httptest.NewRecorder()
		to.ServeHTTP(w, r)
		return w.Code
	}
	bearer := func(to http.Handler, path string) func(string) int {
		return func(credential string) int {
			return send(to, http.MethodGet, path, "Authorization", "Bearer "+credential, "")
		}
	}
	cookie := func(to http.Handler, path, name string) func(string) int {
		return func(credential string) int {
			return send(to, http.MethodGet, path, "Cookie", name+"-"+n.Store().Dataset()+"="+credential, "")
		}
	}
	signIn := func(to http.Handler, path string) func(string) int {
		return func(credential string) int {
			form := url.Values{"token": {credential}}.Encode()
			return send(to, http.MethodPost, path, "Sec-Fetch-Site", "same-origin", form)
		}
	}
	unknown := newToken().Secret.Reveal()
	unknownProgram := must(petcat.GenerateOperatorToken(rand.Reader)).Secret.Reveal()
	for _, door := range []struct {
		name          string
		try           func(credential string) (status int)
		valid         string
		wrong         []string // malformed, and unknown
		accepted, bad int
	}{
		{
			"API", bearer(api, "/v1/categories"),
			secret.Reveal(), []string{"x", "pck_live_x"}, 200, 401,
		},
		{
			"/admin/v1", bearer(admin, "/admin/v1/accounts"),
			program.Secret.Reveal(), []string{"x", unknownProgram}, 200, 401,
		},
		{
			"session of a customer", cookie(api, "/account/usage", "petcat-account"),
			session(customer), []string{"x", unknown}, 200, 303,
		},
		{
			"session of an operator", cookie(admin, "/console/accounts", "petcat-console"),
			session(operator), []string{"x", unknown}, 200, 303,
		},
		{
			"link of a customer", signIn(api, "/account/sign-in"),
			link(customer), []string{"x", unknown}, 303, 403,
		},
		{
			"link of an operator", signIn(admin, "/console/sign-in"),
			link(operator), []string{"x", unknown}, 303, 403,
		},
	} {
		status := door.bad
		for range 1_000 { // until the limit of the address
			if status = door.try(door.wrong[0]); status != door.bad {
				break
			}
		}
		if status != http.StatusTooManyRequests {
			t.Errorf("%s: %d after many wrong credentials, want 429", door.name, status)
		}
		for _, wrong := range door.wrong {
			if status := door.try(wrong); status != http.StatusTooManyRequests {
				t.Errorf("%s: %d for the wrong credential %s, want 429", door.name, status, wrong)
			}
		}
		if status := door.try(door.valid); status != door.accepted {
			t.Errorf("%s: %d for the valid credential, want %d", door.name, status, door.accepted)
		}
	}
}
