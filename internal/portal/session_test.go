package portal

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"petcat"
)

func TestSignIn(t *testing.T) {
	s := start(t)
	a := s.account("acme")
	b := s.browser()
	for _, path := range []string{"", "usage", "usage.json", "keys/key_1", "nowhere"} {
		b.get(path).wantGoesTo("sign-in")
	}
	b.post("keys").wantGoesTo("sign-in")
	b.get("sign-in").want(http.StatusOK, "Your petcat account")

	token := s.link(a.ID)
	p := b.post("sign-in", "token", " "+token+"\n")
	p.wantGoesTo("")
	c := p.Cookies()[0]
	if c.Name != "petcat-account-d1" || !c.HttpOnly || c.Secure || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.MaxAge != 30*24*3600 || c.Value == token {
		t.Errorf("the cookie is %s", c)
	}
	s.wantAudited("customer acct_1", "account.sign_in", "acct_1")
	page := b.get("").want(http.StatusOK, "acme", "Free plan", "You have no keys yet.")
	if got := page.Header.Get("Content-Security-Policy"); !strings.HasPrefix(got, "default-src 'none'; script-src 'self';") || page.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("the page may do %s", got)
	}
	s.browser().post("sign-in", "token", token).want(http.StatusForbidden, "used already")
	if log := s.log.String(); strings.Contains(log, token) || strings.Contains(log, c.Value) {
		t.Errorf("the log has a secret: %s", log)
	}
	b.post("sign-out").wantGoesTo("sign-in")
	b.get("").wantGoesTo("sign-in")
}

// TestSessionLastsWhileItIsUsed: for 30 days from each use, and not after the account was closed.
func TestSessionLastsWhileItIsUsed(t *testing.T) {
	s := start(t)
	b := s.signIn(s.account("acme").ID)
	for range 3 {
		s.clock.Advance(petcat.CustomerIdle - time.Minute)
		if cookies := b.get("").want(http.StatusOK).Cookies(); len(cookies) != 1 || cookies[0].MaxAge != 30*24*3600 {
			t.Errorf("the cookie is not renewed: %v", cookies)
		}
	}
	s.clock.Advance(petcat.CustomerIdle - time.Minute)
	b.do(http.MethodGet, "usage.json", "", "Sec-Fetch-Dest", "empty").want(http.StatusOK) // an open page, at which nobody looks
	s.clock.Advance(time.Minute)
	b.get("").wantGoesTo("sign-in?done=ended")
	b.get("sign-in?done=ended").want(http.StatusOK, "Your session has ended, and nothing was changed.")
	b.get("").wantGoesTo("sign-in") // the cookie is gone

	other := s.account("other")
	b = s.signIn(other.ID)
	_, err := s.store.CloseAccount(t.Context(), cli, other.ID)
	must(t, err)
	b.get("").wantGoesTo("sign-in?done=ended")
}

func TestBounds(t *testing.T) {
	s := start(t)
	a := s.account("acme")
	customer, b := s.signIn(a.ID), s.browser()
	for i := range FailuresPerMinute {
		b.post("sign-in", "token", []string{"", "x", strings.Repeat("a", 32)}[i%3]).want(http.StatusForbidden, "not whole")
	}
	b.post("sign-in", "token", s.link(a.ID)).want(http.StatusTooManyRequests, "wait a minute")
	for range RequestsPerMinute {
		customer.get("sign-in").want(http.StatusOK) // needs no session
		if p := customer.get("usage"); p.StatusCode != http.StatusOK {
			p.want(http.StatusOK)
		}
	}
	customer.get("").want(http.StatusTooManyRequests, "Too many requests")
	for range 5 {
		b.do(http.MethodGet, "", "", "Cookie", "petcat-account-d1="+strings.Repeat("a", 32)).wantGoesTo("sign-in?done=ended")
	}
	b.do(http.MethodGet, "", "", "Cookie", "petcat-account-d1="+strings.Repeat("a", 32)).want(http.StatusTooManyRequests)
	s.clock.Advance(time.Minute)
	customer.get("").want(http.StatusOK)
	b.post("sign-in", "token", s.link(a.ID)).wantGoesTo("")
}

// TestSecure: without TLS the pages are for this machine alone; with it, for every host, by a
// cookie that only this host can set. Nothing repeats the host, and nobody else's form counts.
func TestSecure(t *testing.T) {
	s := start(t)
	b := s.signIn(s.account("acme").ID)
	for host, want := range map[string]int{"localhost:8080": 200, "[::1]:8080": 200, "127.0.0.2": 200, "evil.example": 403, "192.0.2.1:8080": 403} {
		b.do(http.MethodGet, "sign-in", "", "Host", host).want(want).lacks(host)
	}
	for name, headers := range map[string][]string{
		"cross-site": {"Sec-Fetch-Site", "cross-site"}, "same-site": {"Sec-Fetch-Site", "same-site"},
		"only an Origin": {"Sec-Fetch-Site", "", "Origin", "https://evil.example"},
	} {
		b.do(http.MethodPost, "keys", "label="+name, headers...).want(http.StatusForbidden, "another origin")
	}
	b.get("").want(http.StatusOK, "You have no keys yet.")

	s = start(t, func(o *Options) { o.Secure, o.Prefix = true, "/pets" })
	a := s.account("acme")
	p := s.browser().do(http.MethodPost, "sign-in", "token="+s.link(a.ID), "Host", "api.example.com").want(http.StatusSeeOther)
	if c := p.Cookies()[0]; c.Name != "__Host-petcat-account-d1" || !c.Secure || c.Path != "/" || c.Domain != "" || p.Header.Get("Location") != "/pets/account" {
		t.Errorf("%s leads to %s", c, p.Header.Get("Location"))
	}
}

func TestStoreIsAway(t *testing.T) {
	s := start(t, func(o *Options) { o.Store = away{o.Store} })
	b := s.browser()
	b.do(http.MethodGet, "", "", "Cookie", "petcat-account-d1="+strings.Repeat("a", 32)).want(http.StatusServiceUnavailable, "The database is away.")
	b.post("sign-in", "token", strings.Repeat("a", 32)).want(http.StatusServiceUnavailable, "The database is away.")
}
