package pages

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/netip"
	"time"

	"petcat"
	"petcat/internal/clientnet"
)

// cookieName returns the name of the session's cookie. A browser accepts one whose name begins
// with __Host- over TLS only, for this host alone, and from no other host.
func (s *Site) cookieName() string {
	if s.Secure {
		return "__Host-" + s.Cookie + "-" + s.Deployment
	}
	return s.Cookie + "-" + s.Deployment
}

// setCookie sets the session's cookie; a life of 0 removes it.
func (x *Exchange) setCookie(token string, life time.Duration) {
	age := int(life.Seconds())
	if age == 0 {
		age = -1
	}
	http.SetCookie(x.W, &http.Cookie{ //nolint:gosec // without TLS only where the operator allows it
		Name: x.site.cookieName(), Value: token, Path: "/", MaxAge: age, Secure: x.site.Secure, HttpOnly: true,
		// Not strict: a link to a page then works for a signed-in user. Following a link never
		// changes anything.
		SameSite: http.SameSiteLaxMode,
	})
}

// SignedIn calls next if the request has a session. Otherwise it redirects to the sign-in page.
// The form of a change is not lost: the answer is a page that sends it again.
func (x *Exchange) SignedIn(change bool, next func() error) error {
	cookie, err := x.R.Cookie(x.site.cookieName())
	if err == nil {
		err = x.findSession(cookie.Value)
		if err == nil {
			return next()
		}
		if petcat.CodeOf(err) != petcat.CodeNotFound {
			return err
		}
		x.setCookie("", 0)
	}
	switch {
	case change:
		return x.renderAs(http.StatusForbidden, "session-ended", View{Title: "Your session has ended", Data: x.R.URL.Path})
	case cookie != nil:
		return x.GoTo("sign-in", "ended")
	default:
		return x.GoTo("sign-in", "")
	}
}

// findSession finds the session of a cookie, and records its use. Only a cookie without a session
// counts as a failed attempt of the client's address, so that others behind the same address can
// work.
func (x *Exchange) findSession(cookie string) error {
	// Attempts of clients that disconnect early are counted, too.
	s, ctx := x.site, context.WithoutCancel(x.R.Context())
	token, err := petcat.ParseToken(cookie)
	var found petcat.Session
	if err == nil {
		found, err = s.Store.FindSession(ctx, s.Realm, token)
	}
	if petcat.CodeOf(err) == petcat.CodeNotFound && s.Strangers.Take(clientnet.Of(x.address())).Refused {
		return tooManyAttempts()
	}
	if err != nil {
		return err
	}
	x.Session, x.token = found, token
	if !found.Stale(s.now()) || x.byItself() {
		return nil
	}
	if err := s.Store.TouchSession(ctx, token); err != nil {
		// The session may end too early. But this must not keep out an operator who investigates
		// the store's failure.
		s.Logger.WarnContext(ctx, "session use not recorded", "error", err)
	}
	x.setCookie(cookie, s.CookieLife)
	return nil
}

// byItself reports whether a script of an open page sent the request, as it does every 10 s, so
// that it does not prove that a user is present. Browsers say so in each request.
func (x *Exchange) byItself() bool { return x.R.Header.Get("Sec-Fetch-Dest") == "empty" }

// address returns the address of the client.
func (x *Exchange) address() netip.Addr {
	return x.site.TrustedProxies.Client(x.R.RemoteAddr, x.R.Header)
}

func tooManyAttempts() error {
	return petcat.Errorf(petcat.CodeTooManyFailedAttempts, "too many attempts to sign in failed; wait a minute, then try again")
}

func signInPage(x *Exchange) error { return x.Render("sign-in", View{Title: "Sign in"}) }

// signIn consumes the token of a link, and starts a session. Only an invalid token counts as a failed
// attempt of the client's address.
func signIn(x *Exchange) error {
	s, ctx, from := x.site, context.WithoutCancel(x.R.Context()), x.address()
	token, err := petcat.GenerateToken(rand.Reader)
	if err != nil {
		return err
	}
	link, err := petcat.ParseToken(x.Value("token"))
	var session petcat.Session
	if err == nil {
		session, err = s.Store.SignIn(ctx, s.Realm, link, token.Hash)
	}
	switch {
	case petcat.CodeOf(err) == petcat.CodeNotFound:
		if s.Failures.Take(clientnet.Of(from)).Refused {
			return tooManyAttempts()
		}
		s.Logger.WarnContext(ctx, "sign-in failed", "realm", string(s.Realm), "address", from)
		x.problem = Sentence(petcat.Public(err).Message)
		return x.renderAs(http.StatusForbidden, "sign-in", View{Title: "Sign in"})
	case err != nil:
		return err
	}
	s.Logger.InfoContext(ctx, "signed in", "subject", session.Subject().String(), "address", from)
	x.setCookie(token.Secret.Reveal(), s.CookieLife)
	return x.GoTo("", "")
}

func (x *Exchange) signOut() error {
	return x.leave(x.site.Store.SignOut(x.R.Context(), x.token))
}

// SignOutEverywhere ends all sessions of the signed-in user.
func (x *Exchange) SignOutEverywhere() error {
	by, err := x.Author()
	if err != nil {
		return err
	}
	_, err = x.site.Store.SignOutEverywhere(x.R.Context(), by, x.Session.Subject())
	return x.leave(err)
}

func (x *Exchange) leave(err error) error {
	if err == nil {
		x.setCookie("", 0)
	}
	return x.Done(err, "sign-in", "")
}
