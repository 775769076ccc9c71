package portal

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clientnet"
	"github.com/petcat-api/petcat/internal/pages"
	"github.com/petcat-api/petcat/internal/pagetest"
	"github.com/petcat-api/petcat/internal/ratelimit"
	"github.com/petcat-api/petcat/internal/web"
)

func TestSignIn(t *testing.T) {
	s := start(t)
	a := s.Account("acme")
	b := s.Browser()
	for _, path := range []string{"", "usage", "usage.json", "keys/key_1", "nowhere"} {
		b.Get(path).WantGoesTo("sign-in")
	}
	b.Post("keys", "label", "mine").
		Want(http.StatusForbidden, "Your session has expired", `action="/account/keys"`, `name="label" value="mine"`)
	b.Get("sign-in").Want(http.StatusOK, "Your petcat account")

	token := s.Link(petcat.Subject{Account: a.ID})
	p := b.Post("sign-in", "token", " "+token+"\n").
		Want(http.StatusOK, "Sign in to acme?", "<code>acct_1</code>", `name="sure" value="yes"`)
	if len(p.Cookies()) != 0 {
		t.Error("a session started before the customer saw whose account the link opens")
	}
	p = b.Post("sign-in", "token", " "+token+"\n", "sure", "yes")
	p.WantGoesTo("")
	session := p.WantCookie(http.Cookie{
		Name:     cookie,
		Path:     "/",
		MaxAge:   30 * 24 * 3600,
		HttpOnly: true,
		SameSite: http.SameSiteLaxMode,
	})
	if session == token {
		t.Error("the cookie has the token of the link")
	}
	s.WantAudited("customer acct_1", "account.sign_in", "acct_1")
	page := b.Get("").Want(http.StatusOK, "acme", "Free plan", "You have no keys yet.")
	policy := page.Header.Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "default-src 'none'; script-src 'self';") {
		t.Errorf("the page may do %s", policy)
	}
	if page.Header.Get("Cache-Control") != "no-store" {
		t.Error("the page may be stored")
	}
	for _, sure := range []string{"", "yes"} {
		s.Browser().Post("sign-in", "token", token, "sure", sure).Want(http.StatusForbidden, "already used")
	}
	if log := s.Log.String(); strings.Contains(log, token) || strings.Contains(log, session) {
		t.Errorf("the log has a secret: %s", log)
	}
	b.Post("sign-out").WantGoesTo("sign-in")
	b.Get("").WantGoesTo("sign-in")
}

// TestSignOutEverywhere: a customer ends all sessions of the account.
func TestSignOutEverywhere(t *testing.T) {
	s := start(t)
	a := s.Account("acme")
	customer, thief, other := signIn(s, a), signIn(s, a), signIn(s, s.Account("other"))
	customer.Get("").Want(http.StatusOK, "Sign out everywhere")
	customer.Post("sign-out-everywhere").WantGoesTo("sign-in")
	s.WantAudited("customer acct_1", "account.sign_out", "acct_1")
	thief.Get("").WantGoesTo("sign-in?done=expired")
	other.Get("").Want(http.StatusOK)
}

// TestSignOutEverywhereAgain: a form that is sent again also ends the sessions since the first time.
func TestSignOutEverywhereAgain(t *testing.T) {
	s := start(t)
	a := s.Account("acme")
	for range 2 {
		customer, stolen := signIn(s, a), signIn(s, a)
		customer.Post("sign-out-everywhere", "once", "a").WantGoesTo("sign-in")
		stolen.Get("").WantGoesTo("sign-in?done=expired")
	}
}

// TestSessionExpiry: a session lasts for 30 days from its last use, as its cookie does.
func TestSessionExpiry(t *testing.T) {
	s := start(t)
	b := signIn(s, s.Account("acme"))
	for range 2 {
		s.Clock.Advance(petcat.CustomerIdle - time.Minute)
		cookies := b.Get("").Want(http.StatusOK).Cookies()
		if len(cookies) != 1 || cookies[0].MaxAge != 30*24*3600 {
			t.Errorf("the cookie is not renewed: %v", cookies)
		}
	}
	s.Clock.Advance(petcat.CustomerIdle - time.Minute)
	script := []string{"Sec-Fetch-Dest", "empty"} // of an open page
	b.Do(http.MethodGet, "usage.json", "", script...).Want(http.StatusOK)
	s.Clock.Advance(time.Minute)
	b.Get("").WantGoesTo("sign-in?done=expired")
	b.Get("sign-in?done=expired").Want(http.StatusOK, "Your session has expired. Sign in")
	b.Get("").WantGoesTo("sign-in") // the cookie was removed
}

// TestRequestsAreBounded: an account's requests are limited, separately from requests without a session.
func TestRequestsAreBounded(t *testing.T) {
	s := start(t)
	customer := signIn(s, s.Account("acme"))
	for range RequestsPerMinute {
		customer.Get("sign-in").Want(http.StatusOK)
		customer.Get("usage").Want(http.StatusOK)
	}
	p := customer.Get("").Want(http.StatusTooManyRequests, "Too many requests")
	if got := p.Header.Get("Retry-After"); got != "43" {
		t.Errorf("Retry-After: %s, want 43", got)
	}
	s.Clock.Advance(time.Minute)
	customer.Get("").Want(http.StatusOK)
}

// TestForms: how much of a form is read depends on the session, not on a cookie's name. Without a
// session, only 4 KiB are read, and only the form's own fields are repeated.
func TestForms(t *testing.T) {
	s := start(t)
	customer, stranger := signIn(s, s.Account("acme")), s.Browser()
	long := func(size int) string { return strings.Repeat("n", size) }
	plan := func(size int) string { return pagetest.Form("plan", "pro", "note", long(size)) }
	many := strings.Repeat("a=&", 1000)
	post := func(form string) *pagetest.Page {
		t.Helper()
		p := stranger.Do(http.MethodPost, "plan", form, "Cookie", cookie+"=x")
		return p.Want(http.StatusForbidden, "Your session has expired")
	}
	post(plan(900)).Want(http.StatusForbidden, `name="note" value="nnn`, "Send the form again")
	post(plan(12<<10)).Want(http.StatusForbidden, "too long to be kept").Lacks("nnn")
	post(many).Want(http.StatusForbidden, "too long to be kept").Lacks(`name="a"`)
	post("plan=pro&other=yes").Want(http.StatusForbidden, `value="pro"`).Lacks(`"other"`)
	stranger.Post("sign-in", "token", long(1<<10)).Want(http.StatusForbidden, "incomplete")
	stranger.Post("sign-in", "token", long(4<<10)).Want(http.StatusBadRequest, "too long")
	stranger.Get("sign-in?" + long(4<<10)).Want(http.StatusOK)
	stranger.Get("sign-in?"+long(4<<10+1)).Want(http.StatusBadRequest, "too long")

	customer.Post("plan", "plan", "pro", "note", long(12<<10)).Want(http.StatusBadRequest, "at most 1000 characters")
	customer.Post("plan", "plan", "pro", "note", long(16<<10)).Want(http.StatusBadRequest, "too long")
	customer.Do(http.MethodPost, "plan", many).Want(http.StatusBadRequest, "cannot be read")
}

// TestInvalidCookiesAreCounted: each request with an invalid cookie counts, also if it sends a form.
func TestInvalidCookiesAreCounted(t *testing.T) {
	s := start(t)
	b := s.Browser()
	form := func() *pagetest.Page { return b.Do(http.MethodPost, "keys", "label=x", "Cookie", cookie+"=x") }
	for range pagetest.StrangersPerMinute {
		form().Want(http.StatusForbidden, "Your session has expired")
	}
	p := form().Want(http.StatusTooManyRequests, "wait a minute")
	if got := p.Header.Get("Retry-After"); got != "43" {
		t.Errorf("Retry-After: %s, want 43", got)
	}
}

// TestDisconnectedClient: an attempt counts even if its client disconnects, and is no failure of the
// service.
func TestDisconnectedClient(t *testing.T) {
	var site http.Handler
	s := start(t, func(o *Options) { site = New(*o) })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	send := func(ctx context.Context, method, path string) int {
		token := strings.Repeat("a", 32)
		r := httptest.NewRequestWithContext(ctx, method, "http://localhost/account/"+path+"?token="+token, nil)
		r.RemoteAddr = "127.0.0.1:1"
		r.AddCookie(&http.Cookie{Name: cookie, Value: token})
		w := httptest.NewRecorder()
		site.ServeHTTP(w, r)
		return w.Code
	}
	for method, path := range map[string]string{http.MethodPost: "sign-in", http.MethodGet: "usage"} {
		for range pages.FailuresPerMinute {
			send(ctx, method, path)
		}
		if status := send(t.Context(), method, path); status != http.StatusTooManyRequests {
			t.Errorf("%s: %d after many attempts", path, status)
		}
	}
	if log := s.Log.String(); strings.Contains(log, "level=ERROR") {
		t.Error(log)
	}
}

// slowSessions are sessions whose look-ups wait.
type slowSessions struct {
	pages.Sessions

	begun, end chan struct{}
}

func (s slowSessions) FindSession(context.Context, petcat.Realm, petcat.TokenHash) (petcat.Session, error) {
	close(s.begun)
	<-s.end
	return petcat.Session{}, petcat.ErrNotSignedIn()
}

// TestDisconnectedWhileWaiting: a client that disconnects while its cookie waits to be looked up is no
// failure of the service.
func TestDisconnectedWhileWaiting(t *testing.T) {
	var site http.Handler
	slow := slowSessions{begun: make(chan struct{}), end: make(chan struct{})}
	s := start(t, func(o *Options) {
		o.Sessions = slow
		o.Cookies = ratelimit.NewDoor[clientnet.Net](o.Clock, pagetest.StrangersPerMinute, ratelimit.NewLookups(1))
		site = New(*o)
	})
	send := func(ctx context.Context) int {
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/account/", nil)
		r.RemoteAddr = "127.0.0.1:1"
		r.AddCookie(&http.Cookie{Name: cookie, Value: strings.Repeat("a", 32)})
		w := httptest.NewRecorder()
		site.ServeHTTP(w, r)
		return w.Code
	}
	first := make(chan int)
	go func() { first <- send(t.Context()) }()
	<-slow.begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if status := send(ctx); status != web.StatusGone {
		t.Errorf("%d for a client that has disconnected, want %d", status, web.StatusGone)
	}
	close(slow.end)
	if status := <-first; status != http.StatusSeeOther {
		t.Errorf("%d for an unknown session, want 303", status)
	}
	if log := s.Log.String(); strings.Contains(log, "level=ERROR") {
		t.Error(log)
	}
}

// TestSecure: without TLS, the pages accept only localhost; with TLS, any host, with a __Host- cookie.
// Responses never repeat the host.
func TestSecure(t *testing.T) {
	s := start(t)
	for host, want := range map[string]int{
		"localhost:8080": http.StatusOK,
		"[::1]:8080":     http.StatusOK,
		"127.0.0.2":      http.StatusOK,
		"evil.example":   http.StatusForbidden,
		"192.0.2.1:8080": http.StatusForbidden,
	} {
		s.Browser().Do(http.MethodGet, "sign-in", "", "Host", host).Want(want).Lacks(host)
	}
	s = start(t, func(o *Options) { o.Secure = true })
	a := s.Account("acme")
	form := pagetest.Form("token", s.Link(petcat.Subject{Account: a.ID}), "sure", "yes")
	p := s.Browser().Do(http.MethodPost, "sign-in", form, "Host", "api.example.com").Want(http.StatusSeeOther)
	p.WantCookie(http.Cookie{
		Name:     "__Host-" + cookie,
		Path:     "/",
		MaxAge:   30 * 24 * 3600,
		Secure:   true,
		HttpOnly: true,
		SameSite: http.SameSiteLaxMode,
	})
	if got := p.Header.Get("Location"); got != "/account/" {
		t.Errorf("the browser is sent to %s, want /account/", got)
	}
}

func TestStoreOutage(t *testing.T) {
	s := start(t, func(o *Options) { o.Sessions = away{o.Sessions} })
	b := s.Browser()
	const problem = "The database is away."
	token := strings.Repeat("a", 32)
	b.Do(http.MethodGet, "", "", "Cookie", cookie+"="+token).Want(http.StatusServiceUnavailable, problem)
	for _, sure := range []string{"", "yes"} {
		b.Post("sign-in", "token", token, "sure", sure).Want(http.StatusServiceUnavailable, problem)
	}
}

// TestRemoteWithoutTLS: without TLS, a remote client is rejected, whatever host it sends.
func TestRemoteWithoutTLS(t *testing.T) {
	for _, secure := range []bool{false, true} {
		var portal *Portal
		start(t, func(o *Options) {
			o.Secure = secure
			portal = New(*o)
		})
		for remote, want := range map[string]int{
			"127.0.0.1:1":     http.StatusOK,
			"[::1]:1":         http.StatusOK,
			"192.0.2.1:1":     http.StatusForbidden,
			"[2001:db8::1]:1": http.StatusForbidden,
		} {
			if secure {
				want = 200
			}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/account/sign-in", nil)
			r.RemoteAddr = remote
			w := httptest.NewRecorder()
			portal.ServeHTTP(w, r)
			if w.Code != want {
				t.Errorf("from %s, secure %t: %d, want %d", remote, secure, w.Code, want)
			}
		}
	}
}
