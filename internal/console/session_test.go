package console

import (
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"petcat"
	"petcat/internal/clientnet"
)

func TestSignIn(t *testing.T) {
	s := start(t)
	b := s.browser()
	for _, path := range []string{"", "accounts", "history.json", "nowhere"} {
		b.get(path).wantGoesTo("sign-in")
	}
	b.post("accounts", "name", "acme", "plan", "free").wantGoesTo("sign-in")
	b.get("sign-in").want(http.StatusOK, "Sign in to petcat")

	token := s.link("ada", petcat.RoleAdmin)
	p := b.post("sign-in", "token", " "+token+"\n")
	p.wantGoesTo("")
	cookies := p.Cookies()
	if len(cookies) != 1 {
		t.Fatalf("%d cookies", len(cookies))
	}
	c := cookies[0]
	if c.Name != "petcat-console-d1" || !c.HttpOnly || c.Secure || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" || c.MaxAge != 7*24*3600 || c.Value == token {
		t.Errorf("the cookie is %s", c)
	}
	s.wantAudited("operator ada", "operator.sign_in", "operator ada")
	b.get("").want(http.StatusOK, "Overview", "ada", "admin")

	s.browser().post("sign-in", "token", token).want(http.StatusForbidden, "used already")
	if log := s.log.String(); strings.Contains(log, token) || strings.Contains(log, c.Value) {
		t.Errorf("the log has a secret: %s", log)
	}
}

func TestFailedAttemptsAreBounded(t *testing.T) {
	s := start(t)
	token := s.link("ada", petcat.RoleAdmin)
	b := s.browser()
	for i := range FailuresPerMinute {
		wrong := []string{"", "x", strings.Repeat("a", 32)}[i%3]
		// Without trusted proxies, nobody is believed to come from elsewhere.
		b.do(http.MethodPost, "sign-in", form("token", wrong), "X-Forwarded-For", fmt.Sprintf("192.0.2.%d", i)).want(http.StatusForbidden, "not whole")
	}
	b.post("sign-in", "token", token).want(http.StatusTooManyRequests, "wait a minute")
	if told := strings.Count(s.log.String(), "an attempt to sign in to the console failed"); told != FailuresPerMinute || !strings.Contains(s.log.String(), "address=127.0.0.1") {
		t.Errorf("the log tells of %d failed attempts: %s", told, s.log)
	}
	s.clock.Advance(time.Minute)
	b.post("sign-in", "token", token).wantGoesTo("")

	t.Run("of each address behind a proxy", func(t *testing.T) {
		s := start(t, func(o *Options) {
			o.TrustedProxies = clientnet.NewProxies([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, o.Logger)
		})
		token := s.link("ada", petcat.RoleAdmin)
		b := s.browser()
		signIn := func(from, token string) *page {
			return b.do(http.MethodPost, "sign-in", form("token", token), "X-Forwarded-For", from)
		}
		for range FailuresPerMinute {
			signIn("198.51.100.1, 192.0.2.1", "x").want(http.StatusForbidden)
		}
		signIn("192.0.2.1", token).want(http.StatusTooManyRequests)
		signIn("192.0.2.2", token).wantGoesTo("")
	})
}

func TestOtherOrigins(t *testing.T) {
	s := start(t)
	b := s.admin()
	for name, headers := range map[string][]string{
		"cross-site":         {"Sec-Fetch-Site", "cross-site"},
		"same-site":          {"Sec-Fetch-Site", "same-site"}, // another port, or another name of the site
		"only an Origin":     {"Sec-Fetch-Site", "", "Origin", "https://evil.example"},
		"an Origin of null":  {"Sec-Fetch-Site", "", "Origin", "null"},
		"rebound, to change": {"Host", "evil.example"},
	} {
		b.do(http.MethodPost, "accounts", form("name", name, "plan", "free"), headers...).want(http.StatusForbidden)
		if _, err := s.store.FindAccount(t.Context(), name); petcat.CodeOf(err) != petcat.CodeNotFound {
			t.Errorf("%s: the account was created", name)
		}
	}
	for host, want := range map[string]int{
		"evil.example": http.StatusForbidden, "evil.example:8081": http.StatusForbidden, "console.example.com": http.StatusSeeOther,
		"CONSOLE.example.com:443": http.StatusSeeOther,
	} {
		b.do(http.MethodGet, "accounts", "", "Host", host, "Cookie", "").want(want).lacks("ada")
	}
}

func TestHeaders(t *testing.T) {
	s := start(t)
	p := s.admin().get("").want(http.StatusOK)
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
		"X-Content-Type-Options":  "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "same-origin",
		"Content-Type": "text/html; charset=utf-8",
	} {
		if got := p.Header.Get(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestSignOut(t *testing.T) {
	s := start(t)
	first, second, other := s.admin(), s.admin(), s.viewer()
	first.post("sign-out").wantGoesTo("sign-in")
	first.get("").wantGoesTo("sign-in")
	second.get("").want(http.StatusOK)
	third := s.admin()
	second.post("sign-out-everywhere").wantGoesTo("sign-in")
	s.wantAudited("operator ada", "operator.sign_out", "operator ada")
	second.get("").wantGoesTo("sign-in")
	third.get("").wantGoesTo("sign-in?done=ended")
	third.get("sign-in?done=ended").want(http.StatusOK, "Your session has ended, and nothing was changed.")
	other.get("").want(http.StatusOK)
	must(t, s.store.RemoveOperator(t.Context(), cli, "bob"))
	other.get("").wantGoesTo("sign-in?done=ended")
}

func TestSessionEndsWhenIdle(t *testing.T) {
	s := start(t)
	b := s.admin()
	for range 3 {
		s.clock.Advance(petcat.SessionIdle - time.Minute)
		b.get("accounts").want(http.StatusOK)
	}
	s.clock.Advance(petcat.SessionIdle)
	b.get("accounts").wantGoesTo("sign-in?done=ended")

	b = s.admin()
	s.clock.Advance(petcat.SessionIdle - time.Minute)
	b.do(http.MethodGet, "history.json", "", "Sec-Fetch-Dest", "empty").want(http.StatusOK) // by an open page, at which nobody looks
	s.clock.Advance(time.Minute)
	p := b.do(http.MethodGet, "", "", "HX-Request", "true").want(http.StatusNoContent)
	if got := p.Header.Get("HX-Redirect"); got != base+"sign-in?done=ended" {
		t.Errorf("htmx is sent to %q", got)
	}
}

func TestOperators(t *testing.T) {
	s := start(t)
	b := s.admin()
	link := regexp.MustCompile(`https://console.example.com/console/sign-in#([a-z2-7]{32})`)
	first := link.FindStringSubmatch(b.post("operators", "name", "cleo", "role", "viewer").want(http.StatusOK, "It is shown once").text)
	s.wantAudited("operator ada", "operator.create", "operator cleo")
	second := link.FindStringSubmatch(b.post("operators/cleo/link").want(http.StatusOK).text)
	if first == nil || second == nil {
		t.Fatalf("the links are %q and %q", first, second)
	}
	cleo := s.browser()
	cleo.post("sign-in", "token", first[1]).want(http.StatusForbidden)
	cleo.post("sign-in", "token", second[1]).wantGoesTo("")
	b.post("operators", "name", "Cleo!", "role", "viewer").want(http.StatusBadRequest, `data-field="name">An operator's name has`)
	b.get("operators").want(http.StatusOK, "cleo", "viewer", "There are no tokens.")
	b.get("operators/cleo/remove").want(http.StatusOK, "Remove the operator cleo?")
	b.post("operators/cleo/remove").wantGoesTo("operators?done=removed")
	cleo.get("").wantGoesTo("sign-in?done=ended")
	b.post("operators/cleo/link").want(http.StatusNotFound)
	b.get("backups").want(http.StatusOK, "/backups/petcat-1", "14 Mar 2027, 12:00:18", "1.5 MB")
}

// TestWithoutTheStore: who was signed in within ten minutes reads what the node knows, and
// changes nothing.
func TestWithoutTheStore(t *testing.T) {
	var store *awayStore
	s := start(t, func(o *Options) {
		store = &awayStore{Store: o.Store}
		o.Store = store
	})
	b, stranger := s.admin(), s.browser()
	b.get("").want(http.StatusOK, ">healthy<")
	store.away, s.parts[0].Problem, s.parts[0].Since = true, "the database does not respond", noon
	s.clock.Advance(9 * time.Minute)
	const since = "the database does not respond, since 14 Mar 2027, 12:00:18"
	b.get("").want(http.StatusOK, ">degraded<", "Store: "+since).lacks(">healthy<")
	for _, path := range []string{"nodes", "settings", "categories", "history.json"} {
		b.get(path).want(http.StatusOK)
	}
	b.get("accounts").want(http.StatusServiceUnavailable, since)
	b.post("accounts", "name", "acme", "plan", "free").want(http.StatusServiceUnavailable, "Nothing can be changed while the database is unavailable")
	stranger.get("").wantGoesTo("sign-in")
	s.clock.Advance(time.Minute + time.Second)
	b.get("").want(http.StatusServiceUnavailable)
	store.away = false
	b.get("").want(http.StatusOK)
	b.post("sign-out").wantGoesTo("sign-in")
	store.away = true
	b.get("").wantGoesTo("sign-in")
}

// changes returns the paths of everything that may be posted by who is signed in, but for
// signing out.
func changes(t *testing.T) (all []string) {
	t.Helper()
	source, err := os.ReadFile("console.go")
	must(t, err)
	path := strings.NewReplacer("{account}", "acct_1", "{key}", "key_1", "{category}", "1", "{request}", "1", "{operator}", "cleo")
	for _, pattern := range regexp.MustCompile(`"POST ([^"]+)"`).FindAllSubmatch(source, -1) {
		if p := string(pattern[1]); !strings.HasPrefix(p, "sign-") && p != "find" {
			all = append(all, path.Replace(string(pattern[1])))
		}
	}
	if len(all) < 12 {
		t.Fatalf("there are only %q", all)
	}
	return all
}

// TestViewer: a viewer sees every page, is offered no change, and can make none.
func TestViewer(t *testing.T) {
	s := start(t)
	a := s.account("acme")
	k := s.key(a.ID)
	ada := s.admin()
	ada.post("categories", "name", "Dogs").want(http.StatusSeeOther)
	before := s.lastAudit().Sequence
	b := s.viewer()
	for _, path := range []string{
		"", "accounts", "accounts?sort=requests", "requests", "accounts/acct_1", "accounts/acct_1/usage", "usage", "keys/key_1", "bans", "bans?all=yes", "categories", "categories/1", "audit", "settings", "nodes", "operators", "backups",
	} {
		b.get(path).want(http.StatusOK).lacks("New ", `method="post" action="/console/accounts`, `method="post" action="/console/keys`, `method="post" action="/console/bans`, `method="post" action="/console/categories`)
	}
	for _, path := range []string{"accounts/acct_1/close", "keys/key_1/revoke", "categories/1/delete"} {
		b.get(path).want(http.StatusForbidden, "A viewer cannot change anything")
	}
	for _, path := range changes(t) {
		b.post(path, "name", "x", "plan", "pro", "typed", "acme", "overlap", "1h").want(http.StatusForbidden, "A viewer cannot change anything")
	}
	if got := s.lastAudit(); got.Sequence != before+2 || got.Action != "operator.sign_in" { // behind the operator
		t.Errorf("the last audit entry is %+v", got)
	}
	again, err := s.store.FindKey(t.Context(), k.ID)
	must(t, err)
	if again != k {
		t.Errorf("the key is %+v", again)
	}
}
