package server

import (
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clientnet"
	"github.com/petcat-api/petcat/internal/clocktest"
	"github.com/petcat-api/petcat/internal/pages"
	"github.com/petcat-api/petcat/internal/ratelimit"
)

// exhaust fails at a door from more networks than it counts, until further ones get 429.
func exhaust(d *ratelimit.Door[clientnet.Net]) {
	for i := range ratelimit.MaxAddresses + int(d.Limit()) {
		d.Fail(clientnet.Of(netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 0, byte(i >> 16), byte(i >> 8), byte(i)})))
	}
}

func newToken() petcat.GeneratedToken { return must(petcat.GenerateToken(rand.Reader)) }

// TestFailuresRejectNoValidCredential: after too many failed attempts from an address, and from more
// addresses than a node counts, wrong credentials get 429, and valid ones work, at all doors.
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
	from := "127.0.0.1:1"
	send := func(to http.Handler, method, path, header, value, form string) int {
		r := httptest.NewRequestWithContext(t.Context(), method, "http://localhost"+path, strings.NewReader(form))
		r.RemoteAddr = from
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
			cookie := pages.CookieName(name, n.Store().Dataset(), false) + "=" + credential
			return send(to, http.MethodGet, path, "Cookie", cookie, "")
		}
	}
	signIn := func(to http.Handler, path string) func(string) int {
		return func(credential string) int {
			form := url.Values{"token": {credential}, "sure": {"yes"}}.Encode()
			return send(to, http.MethodPost, path, "Sec-Fetch-Site", "same-origin", form)
		}
	}
	unknown := newToken().Secret.Reveal()
	unknownKey := must(petcat.GenerateKey(petcat.Production, rand.Reader)).Secret.Reveal()
	unknownProgram := must(petcat.GenerateOperatorToken(rand.Reader)).Secret.Reveal()
	for _, door := range []struct {
		name          string
		door          *ratelimit.Door[clientnet.Net]
		try           func(credential string) (status int)
		valid         func() string // links work once
		wrong         []string      // malformed, and unknown
		accepted, bad int
	}{
		{
			"API", n.doors.keys, bearer(api, "/v1/categories"),
			secret.Reveal, []string{"x", unknownKey}, 200, 401,
		},
		{
			"/admin/v1", n.doors.operatorTokens, bearer(admin, "/admin/v1/accounts"),
			program.Secret.Reveal, []string{"x", unknownProgram}, 200, 401,
		},
		{
			"session of a customer", n.doors.customerCookies, cookie(api, "/account/usage", "petcat-account"),
			func() string { return session(customer) }, []string{"x", unknown}, 200, 303,
		},
		{
			"session of an operator", n.doors.operatorCookies, cookie(admin, "/console/accounts", "petcat-console"),
			func() string { return session(operator) }, []string{"x", unknown}, 200, 303,
		},
		{
			"link of a customer", n.doors.customerLinks, signIn(api, "/account/sign-in"),
			func() string { return link(customer) }, []string{"x", unknown}, 303, 403,
		},
		{
			"link of an operator", n.doors.operatorLinks, signIn(admin, "/console/sign-in"),
			func() string { return link(operator) }, []string{"x", unknown}, 303, 403,
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
		if status := door.try(door.valid()); status != door.accepted {
			t.Errorf("%s: %d for the valid credential, want %d", door.name, status, door.accepted)
		}
		from = "127.0.0.2:1" // an address without a separate count
		exhaust(door.door)
		if status := door.try(door.wrong[0]); status != http.StatusTooManyRequests {
			t.Errorf("%s: %d for a wrong credential after failures of too many addresses, want 429", door.name, status)
		}
		if status := door.try(door.valid()); status != door.accepted {
			t.Errorf("%s: %d for the valid credential after failures of too many addresses, want %d",
				door.name, status, door.accepted)
		}
		from = "127.0.0.1:1"
	}
}
