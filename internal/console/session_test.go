package console

import (
	"cmp"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clientnet"
	"github.com/petcat-api/petcat/internal/pages"
	"github.com/petcat-api/petcat/internal/pagetest"
)

func TestSignIn(t *testing.T) {
	s := start(t)
	b := s.Browser()
	for _, path := range []string{"", "accounts", "history.json", "nowhere"} {
		b.Get(path).WantGoesTo("sign-in")
	}
	b.Post("find", "q", "acme").WantGoesTo("sign-in")
	b.Post("accounts", "name", "acme", "plan", "free").Want(http.StatusForbidden)
	b.Get("sign-in").Want(http.StatusOK, "Sign in to petcat")

	token := s.link("ada", petcat.RoleAdmin)
	p := b.Post("sign-in", "token", " "+token+"\n")
	p.WantGoesTo("")
	session := p.WantCookie(http.Cookie{
		Name:     pages.CookieName("petcat-console", pagetest.Deployment, false),
		Path:     "/",
		MaxAge:   7 * 24 * 3600,
		HttpOnly: true,
		SameSite: http.SameSiteLaxMode,
	})
	if session == token {
		t.Error("the cookie has the token of the link")
	}
	s.WantAudited("operator ada", "operator.sign_in", "operator ada")
	b.Get("").Want(http.StatusOK, "Overview", "ada", "admin")

	s.Browser().Post("sign-in", "token", token).Want(http.StatusForbidden, "already used")
	if log := s.Log.String(); strings.Contains(log, token) || strings.Contains(log, session) {
		t.Errorf("the log has a secret: %s", log)
	}
}

// TestSessionEndKeepsForms: a form that is sent after the session has ended can be sent again after
// signing in. A search is not kept, because its text may be a secret.
func TestSessionEndKeepsForms(t *testing.T) {
	s := start(t)
	b := s.admin()
	form := []string{"name", "Dogs", "description", "Loyal,\nand \"hungry\" <b>", "once", "a1"}
	s.Clock.Advance(petcat.SessionIdle)
	b.Post("categories", form...).Want(http.StatusForbidden,
		"Your session has expired", "Nothing was changed",
		`action="/console/categories"`, `name="name" value="Dogs"`, `name="once" value="a1"`,
		"value=\"Loyal,\nand \"hungry\" <b>\"",
	)
	b.Post("keys/key_1/rotate?overlap=0s").
		Want(http.StatusForbidden, `action="/console/keys/key_1/rotate"`, `name="overlap" value="0s"`)
	b.Post("accounts/acct_1/plan", "plan", "enterprise", "max_categories", "2000000").
		Want(http.StatusForbidden, `name="max_categories" value="2000000"`)
	b.Post("find", "q", "pck_live_x").WantGoesTo("sign-in")
	b.Post("sign-in", "token", s.link("ada", petcat.RoleAdmin)).WantGoesTo("")
	b.Post("categories", form...).WantGoesTo("categories/1?done=category")
	b.Get("categories/1").Want(http.StatusOK, "Loyal,\nand \"hungry\" <b>")
}

// TestCookies: cookies do not distinguish ports, so each deployment has its own.
func TestCookies(t *testing.T) {
	for _, c := range []struct {
		deployment string
		secure     bool
		name       string
	}{
		{deployment: "d2", secure: false, name: "petcat-console-e788103ee153"},
		{deployment: "d1", secure: true, name: "__Host-petcat-console-8b53639f152c"},
	} {
		s := start(t, func(o *Options) {
			o.Deployment = c.deployment
			o.Secure = c.secure
		})
		token := s.link("ada", petcat.RoleAdmin)
		s.Browser().Post("sign-in", "token", token).Want(http.StatusSeeOther).WantCookie(http.Cookie{
			Name:     c.name,
			Path:     "/",
			MaxAge:   7 * 24 * 3600,
			Secure:   c.secure,
			HttpOnly: true,
			SameSite: http.SameSiteLaxMode,
		})
	}
}

func TestFailedAttemptsAreBounded(t *testing.T) {
	s := start(t, func(o *Options) {
		loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		o.TrustedProxies = clientnet.NewProxies(loopback, o.Logger)
	})
	b := s.Browser()
	signIn := func(from, token string) *pagetest.Page {
		return b.Do(http.MethodPost, "sign-in", pagetest.Form("token", token), "X-Forwarded-For", from)
	}
	for i := range pages.FailuresPerMinute {
		wrong := []string{"", "x", strings.Repeat("a", 32)}[i%3]
		signIn("198.51.100.1, 192.0.2.1", wrong).Want(http.StatusForbidden, "incomplete")
	}
	signIn("192.0.2.1", "x").Want(http.StatusTooManyRequests, "wait a minute")
	signIn("192.0.2.2", "x").Want(http.StatusForbidden)
	logged := strings.Count(s.Log.String(), "sign-in failed")
	if want := pages.FailuresPerMinute + 1; logged != want || !strings.Contains(s.Log.String(), "address=192.0.2.1") {
		t.Errorf("%d failed attempts are logged: %s", logged, s.Log)
	}
	s.Clock.Advance(time.Minute)
	signIn("192.0.2.1", "x").Want(http.StatusForbidden)
}

func TestCrossOriginRequests(t *testing.T) {
	s := start(t)
	b := s.admin()
	for name, headers := range map[string][]string{
		"cross-site":         {"Sec-Fetch-Site", "cross-site"},
		"same-site":          {"Sec-Fetch-Site", "same-site"}, // another port or subdomain
		"only an Origin":     {"Sec-Fetch-Site", "", "Origin", "https://evil.example"},
		"an Origin of null":  {"Sec-Fetch-Site", "", "Origin", "null"},
		"rebound, to change": {"Host", "evil.example"},
	} {
		form := pagetest.Form("name", name, "plan", "free")
		b.Do(http.MethodPost, "accounts", form, headers...).Want(http.StatusForbidden)
		if _, err := s.Store.FindAccount(t.Context(), name); petcat.CodeOf(err) != petcat.CodeNotFound {
			t.Errorf("%s: the account was created", name)
		}
	}
	for host, want := range map[string]int{
		"evil.example":            http.StatusForbidden,
		"evil.example:8081":       http.StatusForbidden,
		"console.example.com":     http.StatusSeeOther,
		"CONSOLE.example.com:443": http.StatusSeeOther,
	} {
		b.Do(http.MethodGet, "accounts", "", "Host", host, "Cookie", "").Want(want).Lacks("ada")
	}
}

func TestHeaders(t *testing.T) {
	s := start(t)
	p := s.admin().Get("").Want(http.StatusOK)
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
			"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
		"X-Content-Type-Options": "nosniff",
		"Cache-Control":          "no-store",
		"Referrer-Policy":        "same-origin",
		"Content-Type":           "text/html; charset=utf-8",
	} {
		if got := p.Header.Get(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestSignOut(t *testing.T) {
	s := start(t)
	first := s.Browser()
	cookie := first.Post("sign-in", "token", s.link("ada", petcat.RoleAdmin)).Cookies()[0]
	second, other := s.admin(), s.viewer()
	first.Post("sign-out").WantGoesTo("sign-in")
	first.Get("").WantGoesTo("sign-in")
	thief := s.Browser() // has a copy of the cookie
	thief.Do(http.MethodGet, "", "", "Cookie", cookie.Name+"="+cookie.Value).WantGoesTo("sign-in?done=expired")
	second.Get("").Want(http.StatusOK)
	third := s.admin()
	second.Post("sign-out-everywhere").WantGoesTo("sign-in")
	s.WantAudited("operator ada", "operator.sign_out", "operator ada")
	second.Get("").WantGoesTo("sign-in")
	third.Get("").WantGoesTo("sign-in?done=expired")
	third.Get("sign-in?done=expired").Want(http.StatusOK, "Your session has expired. Sign in")
	other.Get("").Want(http.StatusOK)
}

func TestSessionEndsWhenIdle(t *testing.T) {
	s := start(t)
	b := s.admin()
	for range 3 {
		s.Clock.Advance(petcat.SessionIdle - time.Minute)
		b.Get("accounts").Want(http.StatusOK)
	}
	s.Clock.Advance(petcat.SessionIdle)
	b.Get("accounts").WantGoesTo("sign-in?done=expired")

	b = s.admin()
	s.Clock.Advance(petcat.SessionIdle - time.Minute)
	script := []string{"Sec-Fetch-Dest", "empty"} // of an open page
	b.Do(http.MethodGet, "history.json", "", script...).Want(http.StatusOK)
	s.Clock.Advance(time.Minute)
	p := b.Do(http.MethodGet, "", "", "HX-Request", "true").Want(http.StatusNoContent)
	if got := p.Header.Get("HX-Redirect"); got != base+"sign-in?done=expired" {
		t.Errorf("htmx is sent to %q", got)
	}
}

func TestOperators(t *testing.T) {
	s := start(t)
	b := s.admin()
	link := regexp.MustCompile(`https://console.example.com/console/sign-in#([a-z2-7]{32})`)
	b.Post("operators", "name", "cleo", "role", "viewer").WantGoesTo("operators?done=operator")
	s.WantAudited("operator ada", "operator.create", "operator cleo")
	b.Get("operators?done=operator").
		Want(http.StatusOK, "petcat operator link NAME prints their sign-in link", "cleo", "New link for yourself")

	// With a link of cleo, ada could act as cleo.
	before := s.LastAudit()
	b.Post("operators/cleo/link").Want(http.StatusMethodNotAllowed)
	if after := s.LastAudit(); after != before {
		t.Errorf("the audit log has %+v", after)
	}
	own := link.FindStringSubmatch(b.Post("operators/link").Want(http.StatusOK, "It is shown once").Text)
	if own == nil {
		t.Fatal("ada got no link for herself")
	}
	s.Browser().Post("sign-in", "token", own[1]).WantGoesTo("")
	cleo := s.signIn("cleo", petcat.RoleViewer)
	b.Post("operators", "name", "Cleo!", "role", "viewer").
		Want(http.StatusBadRequest, `data-field="name">An operator's name has`)
	b.Get("operators").Want(http.StatusOK, "cleo", "viewer", "There are no tokens.")
	b.Get("operators/cleo/remove").Want(http.StatusOK, "Remove the operator cleo?")
	b.Post("operators/cleo/remove").WantGoesTo("operators?done=removed")
	cleo.Get("").WantGoesTo("sign-in?done=expired")
	b.Get("backups").Want(http.StatusOK, "/backups/petcat-1", "14 Mar 2027, 12:00:18", "1.5 MB")
}

// TestStoreOutage: while the store is unavailable, pages are not shown and changes are rejected, because
// a session may have ended on another node. Sessions survive the outage.
func TestStoreOutage(t *testing.T) {
	var sessions *awaySessions
	s := start(t, func(o *Options) {
		sessions = &awaySessions{Sessions: o.Sessions}
		o.Sessions = sessions
	})
	b := s.admin()
	sessions.away = true
	for _, path := range []string{"", "accounts", "nodes", "categories", "history.json"} {
		b.Get(path).Want(http.StatusServiceUnavailable, "The database does not respond.")
	}
	b.Post("accounts", "name", "acme", "plan", "free").Want(http.StatusServiceUnavailable)
	s.Browser().Get("").WantGoesTo("sign-in")
	sessions.away = false
	b.Get("accounts").Want(http.StatusOK, "There are no accounts yet.")
}

// changes returns the paths of all changes.
func changes() (all []string) {
	path := strings.NewReplacer(
		"{account}", "acct_1",
		"{key}", "key_1",
		"{category}", "1",
		"{pet}", "1",
		"{request}", "1",
		"{operator}", "cleo",
		"{node}", "web-1",
		"{token}", "ci1",
		"{webhook}", "1",
	)
	for _, form := range new(Console).forms() {
		all = append(all, path.Replace(form.Path))
	}
	return all
}

// TestViewer: a viewer sees every page without its forms, and cannot make changes.
func TestViewer(t *testing.T) {
	s := start(t)
	s.Key(s.Account("acme").ID)
	ada := s.admin()
	ada.Post("categories", "name", "Dogs").Want(http.StatusSeeOther)
	before := s.LastAudit().Sequence
	b := s.viewer()
	for _, path := range []string{
		"", "requests", "audit", "settings", "nodes", "operators", "backups", "webhooks",
		"accounts", "accounts?sort=requests", "accounts/acct_1", "accounts/acct_1/usage", "usage",
		"keys/key_1", "bans", "bans?all=yes", "categories", "categories/1",
	} {
		b.Get(path).Want(http.StatusOK).Lacks("New ",
			`method="post" action="/console/accounts`, `method="post" action="/console/keys`,
			`method="post" action="/console/bans`, `method="post" action="/console/categories`)
	}
	const forbidden = "A viewer cannot change anything"
	for _, path := range []string{
		"accounts/acct_1/close", "accounts/acct_1/purge", "keys/key_1/revoke", "categories/1/delete",
		"pets/1/delete", "operators/cleo/remove", "webhooks/1/delete",
	} {
		b.Get(path).Want(http.StatusForbidden, forbidden)
	}
	for _, path := range changes() {
		b.Post(path, "name", "x", "plan", "pro", "typed", "acme", "overlap", "1h").
			Want(http.StatusForbidden, forbidden)
	}
	// after creating the operator
	if got := s.LastAudit(); got.Sequence != before+2 || got.Action != "operator.sign_in" {
		t.Errorf("the last audit entry is %+v", got)
	}
}

// TestProfiles: only admins get profiles, and none that stop the node or run longer than a response may.
func TestProfiles(t *testing.T) {
	s := start(t)
	viewer := s.viewer()
	admin := s.admin()
	for _, path := range []string{"", "heap", "profile?seconds=1", "symbol", "trace?seconds=1"} {
		viewer.Get("/debug/pprof/"+path).Want(http.StatusForbidden, "viewer")
	}
	admin.Get("/debug/pprof/heap?debug=1").Want(http.StatusOK, "heap profile")
	admin.Get("/debug/pprof/heap?gc=1").Want(http.StatusBadRequest, "leave gc out")
	for _, seconds := range []string{"31", "0", "-1", "1e9", "x"} {
		admin.Get("/debug/pprof/profile?seconds="+seconds).Want(http.StatusBadRequest, "Seconds must be from 1 to 30")
	}
}

// TestUnstorableText: text that PostgreSQL cannot store is rejected before any query, in every path, query and
// form.
func TestUnstorableText(t *testing.T) {
	s := start(t)
	b := s.admin()
	c := &Console{}
	parameter := regexp.MustCompile(`\{\w+\}`)
	send := func(method, path, form string) {
		t.Helper()
		b.Do(method, path, form).Want(http.StatusBadRequest, "not valid UTF-8")
	}
	request := func(method, path string) {
		path = strings.TrimSuffix(path, "{$}")
		for _, bad := range []string{"%00", "%ff"} {
			send(method, path+"?q=a"+bad, "")
			if parameter.MatchString(path) {
				send(method, parameter.ReplaceAllString(path, "a"+bad), "")
			}
			if method == http.MethodPost {
				send(method, parameter.ReplaceAllString(path, "acct_1"), "name=a"+bad)
			}
		}
	}
	for _, p := range c.pages() {
		request(cmp.Or(p.Method, http.MethodGet), p.Path)
	}
	for _, f := range c.forms() {
		request(http.MethodPost, f.Path)
	}
	request(http.MethodPost, "sign-in") // sign-out does not read a form
}
