package console

import (
	"maps"
	"net/http"
	"net/netip"
	"time"

	"petcat"
	"petcat/internal/clientnet"
	"petcat/internal/pages"
)

// SignInLink returns the link that an operator signs in with. The token is in the
// fragment: browsers send that to nobody, neither in a request nor in Referer.
func SignInLink(url string, token petcat.Secret) string {
	return url + base + "sign-in#" + token.Reveal()
}

// FailuresPerMinute is how many failed attempts to sign in an address may make in a minute.
const FailuresPerMinute = 10

// cookieName returns the name of the cookie, which has the deployment's in it: cookies know no
// ports, so two consoles on one host would end each other's sessions.
func (c *Console) cookieName() string {
	return pages.CookieName("petcat-console-"+c.Deployment, c.Secure)
}

// setCookie sets the cookie for a time; 0 removes it.
func (x *exchange) setCookie(token string, life time.Duration) {
	http.SetCookie(x.w, pages.Cookie("petcat-console-"+x.Deployment, token, x.Secure, life))
}

// signedIn returns a handler that needs a session. It redirects other requests to the page
// for signing in.
func signedIn(next handle) handle {
	return func(x *exchange) error {
		switch err := x.findSession(); {
		case petcat.CodeOf(err) == petcat.CodeNotFound:
			ended := ""
			if _, err := x.r.Cookie(x.cookieName()); err == nil {
				ended = "ended"
			}
			return x.goTo("sign-in", ended)
		case err != nil:
			return err
		}
		return next(x)
	}
}

// findSession finds the session of a request.
func (x *exchange) findSession() error {
	cookie, err := x.r.Cookie(x.cookieName())
	if err != nil {
		return petcat.ErrNotSignedIn()
	}
	if x.token, err = petcat.ParseToken(cookie.Value); err != nil {
		return petcat.ErrNotSignedIn()
	}
	x.session, err = x.Store.FindSession(x.r.Context(), x.token)
	if trusted, ok := x.trust(x.session, err); ok {
		x.session, x.away = trusted, true
		return nil
	}
	if err != nil {
		return err
	}
	if x.session.Stale(x.now()) && !x.byItself() {
		if err := x.Store.TouchSession(x.r.Context(), x.token); err != nil {
			// The session may end too early. But this must not keep out an operator who
			// investigates what is wrong with the store.
			x.Logger.WarnContext(x.r.Context(), "the use of a console session could not be recorded", "error", err)
		}
	}
	return nil
}

// trustedFor is how long a session that was verified is trusted while the store is unavailable.
const trustedFor = 10 * time.Minute

// seen is a session that was verified.
type seen struct {
	session petcat.Session
	at      time.Time
}

// trust notes a session that was verified. If the store was unavailable instead, it returns the
// session that it has noted, for reading alone.
func (x *exchange) trust(s petcat.Session, err error) (trusted petcat.Session, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	maps.DeleteFunc(x.seen, func(_ petcat.TokenHash, s seen) bool { return x.now().Sub(s.at) > trustedFor })
	switch before, known := x.seen[x.token]; petcat.CodeOf(err) {
	case "":
		x.seen[x.token] = seen{s, x.now()}
	case petcat.CodeServiceUnavailable:
		before.session.Role = petcat.RoleViewer
		return before.session, known && !before.session.Ended(x.now())
	default:
		delete(x.seen, x.token)
	}
	return s, false
}

// forget makes the operator's sessions untrusted while the store is unavailable.
func (x *exchange) forget() {
	x.mu.Lock()
	defer x.mu.Unlock()
	maps.DeleteFunc(x.seen, func(_ petcat.TokenHash, s seen) bool { return s.session.Operator == x.session.Operator })
}

// byItself reports whether a script of an open page sent the request, as it does every 10 s,
// so that it does not show that an operator is present. Browsers say so in each request.
func (x *exchange) byItself() bool { return x.r.Header.Get("Sec-Fetch-Dest") == "empty" }

// mayChange returns a handler that only operators who may make changes can use.
func mayChange(next handle) handle {
	return func(x *exchange) error {
		if x.away {
			return petcat.Errorf(petcat.CodeServiceUnavailable, "nothing can be changed while the database is unavailable; try again later")
		}
		if !x.session.Role.Changes() {
			return petcat.Errorf(petcat.CodeForbidden, "a viewer cannot change anything; ask an admin")
		}
		return next(x)
	}
}

func signInPage(x *exchange) error {
	return x.render("sign-in", view{Title: "Sign in"})
}

// signIn uses up the token of a link, and begins a session.
func signIn(x *exchange) error {
	from := x.address()
	if x.Failures.Peek(clientnet.Of(from)).Minute.Remaining <= 0 {
		return petcat.Errorf(petcat.CodeTooManyFailedAttempts, "too many attempts to sign in failed; wait a minute, then try again")
	}
	link, err := petcat.ParseToken(x.value("token"))
	if err != nil {
		return x.signInFailed(from, err)
	}
	token, err := petcat.GenerateToken(x.Random)
	if err != nil {
		return err
	}
	session, err := x.Store.SignIn(x.r.Context(), link, token.Hash)
	if petcat.CodeOf(err) == petcat.CodeNotFound {
		return x.signInFailed(from, err)
	}
	if err != nil {
		return err
	}
	x.Logger.InfoContext(x.r.Context(), "an operator signed in", "operator", string(session.Operator), "address", from)
	x.setCookie(token.Secret.Reveal(), petcat.SessionLife)
	return x.goTo("", "")
}

// signInFailed counts a failed attempt.
func (x *exchange) signInFailed(from netip.Addr, err error) error {
	x.Failures.Take(clientnet.Of(from))
	x.Logger.WarnContext(x.r.Context(), "an attempt to sign in to the console failed", "address", from)
	x.problem = pages.Sentence(petcat.Public(err).Message)
	return x.renderAs(http.StatusForbidden, "sign-in", view{Title: "Sign in"})
}

// address returns the address of the client.
func (x *exchange) address() netip.Addr {
	return x.TrustedProxies.Client(x.r.RemoteAddr, x.r.Header)
}

func signOut(x *exchange) error {
	if err := x.Store.SignOut(x.r.Context(), x.token); err != nil {
		return err
	}
	x.forget()
	x.setCookie("", 0)
	return x.goTo("sign-in", "")
}

func signOutEverywhere(x *exchange) error {
	if _, err := x.Store.SignOutEverywhere(x.r.Context(), x.actor(), x.session.Operator); err != nil {
		return err
	}
	x.forget()
	x.setCookie("", 0)
	return x.goTo("sign-in", "")
}
