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
	b.Post(
		"keys", "label", "mine").Want(http.StatusForbidden, "Your session has expired", `action="/account/keys"`, `name="label" value="mine"`)
	b.Get("sign-in").Want(http.StatusOK, "Your petcat account")

	token := s.Link(petcat.Subject{Account: a.ID})
	p := b.Post("sign-in", "token", " "+token+"\n").Want(http.StatusOK, "Sign in to acme?", "<code>acct_1</code>", `name="sure" value="yes"`)
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
	if got := page.Header.Get(
		"Content-Security-Policy"); !strings.HasPrefix(got, "default-src 'none'; script-src 'self';") || page.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("the page may do %s", got)
	}
	for _, sure := range []string{"", "yes"} {
		s.Browser().Post("sign-in", "token", token, "sure", sure).Want(http.StatusForbidden, "used already")
	}
	if log := s.Log.String(); strings.Contains(log, token) || strings.Contains(log, session) {
		t.Errorf("the log has a secret: %s", log)
	}
	b.Post("sign-out").WantGoesTo("sign-in")
	b.Get("").WantGoesTo("sign-in")
}

// TestSignOutEverywhere: a customer, or an operator, ends all sessions of the account.
func TestSignOutEverywhere(t *testing.T) {
	s := start(t)
	a := s.Account("acme")
	customer, thief, other := signIn(s, a), signIn(s, a), signIn(s, s.Account("other"))
	customer.Get("").Want(http.StatusOK, "Sign out everywhere")
	customer.Post("sign-out-everywhere").WantGoesTo("sign-in")
	s.WantAudited("customer acct_1", "account.sign_out", "acct_1")
	thief.Get("").WantGoesTo("sign-in?done=expired")
	other.Get("").Want(http.StatusOK)

	customer = signIn(s, a)
	_, err := s.Store.SignOutEverywhere(t.Context(), petcat.By(pagetest.CLI), petcat.Subject{Account: a.ID})
	pagetest.Must(t, err)
	customer.Get("").WantGoesTo("sign-in?done=expired")
}

// TestSessionExpiry: a session lasts for 30 days from its last use, but at most 90 days, and not beyond
// the account.
func TestSessionExpiry(t *testing.T) {
	s := start(t)
	b := signIn(s, s.Account("acme"))
	for range 2 {
		s.Clock.Advance(petcat.CustomerIdle - time.Minute)
		if cookies := b.Get("").Want(http.StatusOK).Cookies(); len(cookies) != 1 || cookies[0].MaxAge != 30*24*3600 {
			t.Errorf("the cookie is not renewed: %v", cookies)
		}
	}
	s.Clock.Advance(petcat.CustomerIdle - time.Minute)
	b.Do(http.MethodGet, "usage.json", "", "Sec-Fetch-Dest", "empty").Want(http.StatusOK) // a script of an open page
	s.Clock.Advance(time.Minute)
	b.Get("").WantGoesTo("sign-in?done=expired")
	b.Get("sign-in?done=expired").Want(http.StatusOK, "Your session has expired. Sign in")
	b.Get("").WantGoesTo("sign-in") // the cookie was removed

	b = signIn(s, s.Account("often"))
	for range 3 {
		b.Get("").Want(http.StatusOK)
		s.Clock.Advance(petcat.CustomerIdle - time.Minute)
	}
	b.Get("").Want(http.StatusOK)
	s.Clock.Advance(3 * time.Minute)
	b.Get("").WantGoesTo("sign-in?done=expired")

	other := s.Account("other")
	b = signIn(s, other)
	_, err := s.Store.CloseAccount(t.Context(), petcat.By(pagetest.CLI), other.ID)
	pagetest.Must(t, err)
	b.Get("").WantGoesTo("sign-in?done=expired")
}

// TestBounds: the failed attempts of an address are limited, and so are the requests of an account.
// Failed attempts reject no valid link or session.
func TestBounds(t *testing.T) {
	s := start(t)
	a := s.Account("acme")
	customer, b := signIn(s, a), s.Browser()
	for i := range pages.FailuresPerMinute {
		b.Post("sign-in", "token", []string{"", "x", strings.Repeat("a", 32)}[i%3], "sure", []string{"", "yes"}[i%2]).Want(http.StatusForbidden, "not whole")
	}
	b.Post("sign-in", "token", "x").Want(http.StatusTooManyRequests, "wait a minute")
	s.Browser().Post("sign-in", "token", s.Link(petcat.Subject{Account: a.ID}), "sure", "yes").WantGoesTo("") // a valid link
	for range RequestsPerMinute {
		customer.Get("sign-in").Want(http.StatusOK) // needs no session
		if p := customer.Get("usage"); p.StatusCode != http.StatusOK {
			p.Want(http.StatusOK)
		}
	}
	p := customer.Get("").Want(http.StatusTooManyRequests, "Too many requests")
	if got := p.Header.Get("Retry-After"); got != "43" {
		t.Errorf("Retry-After: %s, want 43", got)
	}
	s.Clock.Advance(time.Minute)
	wrong := []string{cookie + "=x", cookie + "=" + strings.Repeat("a", 32)}
	for i := range pagetest.StrangersPerMinute {
		b.Do(http.MethodGet, "", "", "Cookie", wrong[i%2]).WantGoesTo("sign-in?done=expired")
	}
	for _, cookie := range wrong {
		b.Do(http.MethodGet, "", "", "Cookie", cookie).Want(http.StatusTooManyRequests, "wait a minute")
	}
	customer.Get("").Want(http.StatusOK) // a valid session
	s.Clock.Advance(time.Minute)
	b.Do(http.MethodGet, "", "", "Cookie", wrong[0]).WantGoesTo("sign-in?done=expired")
	b.Post("sign-in", "token", "x").Want(http.StatusForbidden)
}

// TestForms: what is read of a form depends on the session, not on the name of a cookie. Without a
// session, nothing above 4 KiB is read, and only the form's own fields are repeated.
func TestForms(t *testing.T) {
	s := start(t)
	customer, stranger := signIn(s, s.Account("acme")), s.Browser()
	note := func(size int) string { return pagetest.Form("plan", "pro", "note", strings.Repeat("n", size)) }
	const ended = "Your session has expired"
	wrong := []string{"Cookie", cookie + "=x"}

	stranger.Do(http.MethodPost, "plan", note(900), wrong...).Want(http.StatusForbidden, ended, `name="note" value="nnn`, "Send the form again")
	p := stranger.Do(http.MethodPost, "plan", note(12<<10), wrong...).Want(http.StatusForbidden, ended, "too long to be kept")
	p.Lacks("nnn")
	many := strings.Repeat("a=&", 1000)
	stranger.Do(http.MethodPost, "plan", many, wrong...).Want(http.StatusForbidden, ended, "too long to be kept").Lacks(`name="a"`)
	stranger.Post("plan", "plan", "pro", "other", "yes").Want(http.StatusForbidden, ended, `value="pro"`).Lacks(`"other"`)
	stranger.Post("sign-in", "token", strings.Repeat("a", 1<<10)).Want(http.StatusForbidden, "not whole")
	stranger.Post("sign-in", "token", strings.Repeat("a", 4<<10)).Want(http.StatusBadRequest, "too long")
	stranger.Get("sign-in?" + strings.Repeat("a", 4<<10)).Want(http.StatusOK)
	stranger.Get("sign-in?"+strings.Repeat("a", 4<<10+1)).Want(http.StatusBadRequest, "too long")

	customer.Post("plan", "plan", "pro", "note", strings.Repeat("n", 12<<10)).Want(http.StatusBadRequest, "at most 1000 characters")
	customer.Post("plan", "plan", "pro", "note", strings.Repeat("n", 16<<10)).Want(http.StatusBadRequest, "too long")
	customer.Do(http.MethodPost, "plan", many).Want(http.StatusBadRequest, "cannot be read")
}

// TestInvalidCookiesAreCounted: each request with an invalid cookie counts, also if it sends a form.
func TestInvalidCookiesAreCounted(t *testing.T) {
	s := start(t)
	b := s.Browser()
	for range pagetest.StrangersPerMinute {
		b.Do(http.MethodPost, "keys", "label=x", "Cookie", cookie+"=x").Want(http.StatusForbidden, "Your session has expired")
	}
	p := b.Do(http.MethodPost, "keys", "label=x", "Cookie", cookie+"=x").Want(http.StatusTooManyRequests, "wait a minute")
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
		o.Cookies = ratelimit.NewDoor[clientnet.Net](o.Clock, pagetest.StrangersPerMinute, ratelimit.NewLookups(1, 1))
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

// TestSecure: without TLS, the pages accept localhost alone; with TLS, any host, with a __Host-
// cookie. Answers never repeat the host, and forms of other origins are rejected.
func TestSecure(t *testing.T) {
	s := start(t)
	b := signIn(s, s.Account("acme"))
	for host, want := range map[string]int{"localhost:8080": 200, "[::1]:8080": 200, "127.0.0.2": 200, "evil.example": 403, "192.0.2.1:8080": 403} {
		b.Do(http.MethodGet, "sign-in", "", "Host", host).Want(want).Lacks(host)
	}
	for name, headers := range map[string][]string{
		"cross-site": {"Sec-Fetch-Site", "cross-site"}, "same-site": {"Sec-Fetch-Site", "same-site"},
		"only an Origin": {"Sec-Fetch-Site", "", "Origin", "https://evil.example"},
	} {
		b.Do(http.MethodPost, "keys", "label="+name, headers...).Want(http.StatusForbidden, "another origin")
	}
	b.Get("").Want(http.StatusOK, "You have no keys yet.")

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
	b.Do(http.MethodGet,
		"", "", "Cookie", cookie+"="+strings.Repeat("a", 32)).Want(http.StatusServiceUnavailable, "The database is away.")
	for _, sure := range []string{"", "yes"} {
		b.Post("sign-in", "token", strings.Repeat("a", 32), "sure", sure).Want(http.StatusServiceUnavailable, "The database is away.")
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
		for remote, want := range map[string]int{"127.0.0.1:1": 200, "[::1]:1": 200, "192.0.2.1:1": 403, "[2001:db8::1]:1": 403} {
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
