package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	rules "github.com/petcat-api/petcat"
)

// signInLink creates an operator, and returns its sign-in link.
func (n *node) signInLink(name, role string) string {
	n.t.Helper()
	type operator struct{ Link string }
	return petcatJSON[operator](n.t, n.place, "operator", "create", name, "--role", role, "--console-url", n.admin).Link
}

// browser is a browser on the console, without scripts.
type browser struct {
	n      *node
	client *http.Client
}

// signIn opens a sign-in link, as the script of the page does.
func (n *node) signIn(name, role string) *browser {
	n.t.Helper()
	jar, err := cookiejar.New(nil)
	must(n.t, err)
	b := &browser{n, &http.Client{Timeout: patience, Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}}
	page, token, _ := strings.Cut(n.signInLink(name, role), "#")
	if page != n.admin+"/console/sign-in" {
		n.t.Errorf("the link opens %s", page)
	}
	b.post("/console/sign-in", http.StatusOK, "token", token)
	return b
}

// post submits a form, and returns the resulting page.
func (b *browser) post(path string, status int, fields ...string) string {
	b.n.t.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return b.page(b.client.PostForm(b.n.admin+path, form))(status)
}

// get returns a page.
func (b *browser) get(path string) string {
	b.n.t.Helper()
	return b.page(b.client.Get(b.n.admin + path))(http.StatusOK)
}

func (b *browser) page(res *http.Response, err error) func(status int) string {
	return func(status int) string {
		b.n.t.Helper()
		must(b.n.t, err)
		defer func() { _ = res.Body.Close() }()
		body, err := io.ReadAll(res.Body)
		must(b.n.t, err)
		if res.StatusCode != status {
			b.n.t.Fatalf("%s: %s, want %d\n%.500s", res.Request.URL, res.Status, status, body)
		}
		return string(body)
	}
}

// TestConsole: an operator signs in with a link, sees the data and revokes a key. A viewer cannot revoke
// it.
func TestConsole(t *testing.T) {
	t.Parallel()
	place := directory(t)
	k := newKey(t, place, "acme", unlimited...)
	n := serve(t, place)
	n.create(k.Key, "Ferrets").want(t, http.StatusCreated)
	ada, bob := n.signIn("ada", "admin"), n.signIn("bob", "viewer")
	for path, shows := range map[string]string{
		"/console/":             "Server errors",
		"/console/accounts":     "acme",
		"/console/keys/" + k.ID: "acme",
		"/console/categories":   "Ferrets",
	} {
		for _, b := range []*browser{ada, bob} {
			if page := b.get(path); !strings.Contains(page, shows) {
				t.Errorf("%s does not show %s", path, shows)
			}
		}
	}
	bob.post("/console/keys/"+k.ID+"/revoke", http.StatusForbidden)
	n.list(k.Key).want(t, http.StatusOK)
	ada.post("/console/keys/"+k.ID+"/revoke", http.StatusOK)
	eventually(t, "the key is revoked", func() bool { return n.list(k.Key).code() == rules.CodeRevokedAPIKey })
	audit := petcat(t, place, "audit", "list", "--actor", "operator ada")
	for _, action := range []string{"operator.sign_in", "key.revoke"} {
		if !strings.Contains(audit, action) {
			t.Errorf("the audit log lacks %s by the operator:\n%s", action, audit)
		}
	}
	ada.post("/console/sign-out", http.StatusOK)
	if page := ada.get("/console/accounts"); strings.Contains(page, "acme") {
		t.Error("accounts are visible after signing out")
	}
}

// TestAdminListener: without TLS, the console is only available on this machine, by its own names.
func TestAdminListener(t *testing.T) {
	t.Parallel()
	o := run(t, placed(directory(t), "serve", "--admin-listen", "0.0.0.0:0")...)
	if o.code != exitConfig || !strings.Contains(o.stderr, "--admin-allow-plaintext") {
		t.Errorf("public admin listener without TLS: %d %s", o.code, o.stderr)
	}
	n := serve(t, directory(t))
	for host, status := range map[string]int{
		"localhost:1":            http.StatusOK,
		"evil.example":           http.StatusForbidden,
		"localhost.evil.example": http.StatusForbidden,
	} {
		named := func(r *http.Request) { r.Host = host }
		a, err := try(http.DefaultClient, http.MethodGet, n.admin+"/console/sign-in", nil, named)
		must(t, err)
		if a.want(t, status); strings.Contains(fmt.Sprint(a.Header, string(a.body)), "evil") {
			t.Errorf("the response to %s contains the Host: %s", host, a.body)
		}
	}
}
