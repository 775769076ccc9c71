package pages

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/netip"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clientnet"
	"github.com/petcat-api/petcat/internal/ratelimit"
	"github.com/petcat-api/petcat/internal/web"
)

// Sessions is the part of the store with a site's sessions.
type Sessions interface {
	FindLink(ctx context.Context, realm petcat.Realm, link petcat.TokenHash) (petcat.Subject, error)
	SignIn(ctx context.Context, realm petcat.Realm, link, session petcat.TokenHash) (petcat.Session, error)
	FindSession(ctx context.Context, realm petcat.Realm, session petcat.TokenHash) (petcat.Session, error)
	TouchSession(ctx context.Context, session petcat.TokenHash) error
	SignOut(ctx context.Context, session petcat.TokenHash) error
	SignOutEverywhere(
		ctx context.Context, by petcat.Author, of petcat.Subject,
	) (petcat.Result[int64], error)
}

// CookieName returns the name of the session's cookie for a deployment. It is no secret. A browser
// accepts a cookie whose name begins with __Host- only over TLS, only from this host, and only for this
// host.
func CookieName(cookie, deployment string, secure bool) string {
	hash := sha256.Sum256([]byte(deployment))
	name := cookie + "-" + hex.EncodeToString(hash[:6])
	if secure {
		return "__Host-" + name
	}
	return name
}

// setCookie sets the session's cookie; a life of 0 removes it.
func (x *Exchange) setCookie(token string, life time.Duration) {
	age := int(life.Seconds())
	if age == 0 {
		age = -1
	}
	http.SetCookie(x.W, &http.Cookie{ //nolint:gosec // without TLS only where the operator allows it
		Name:     x.site.cookieName,
		Value:    token,
		Path:     "/",
		MaxAge:   age,
		Secure:   x.site.Secure,
		HttpOnly: true,
		// Not strict: a link to a page then works for a signed-in user. Following a link never
		// changes anything.
		SameSite: http.SameSiteLaxMode,
	})
}

// findSession finds the session of the request's cookie, and records its use. It returns an
// [petcat.Error] with [petcat.CodeNotFound] if there is none.
func (x *Exchange) findSession() error {
	cookie, err := x.R.Cookie(x.site.cookieName)
	if err != nil {
		return petcat.ErrNotSignedIn()
	}
	// Attempts by clients that disconnect early also count.
	s, ctx := x.site, context.WithoutCancel(x.R.Context())
	token, err := petcat.ParseToken(cookie.Value)
	var found petcat.Session
	if err == nil {
		err = s.Cookies.LookUp(x.R.Context(), x.client(), func() (err error) {
			found, err = s.Sessions.FindSession(ctx, s.Realm, token)
			return err
		})
	}
	if petcat.CodeOf(err) == petcat.CodeNotFound {
		return x.rejectCookie(err)
	}
	if err != nil {
		return err
	}
	x.Session, x.token = found, token
	web.SetActor(x.W, x.Actor())
	if !found.Stale(s.now()) || x.byItself() {
		return nil
	}
	if err := s.Sessions.TouchSession(ctx, token); err != nil {
		// The session may expire too early. But this must not keep out an operator who investigates
		// the store's failure.
		s.Logger.WarnContext(ctx, "session use not recorded", "error", err)
	}
	x.setCookie(cookie.Value, s.CookieLife)
	return nil
}

// rejectCookie removes a cookie without a session. Only such a cookie counts as a failed attempt of
// the client's address, so that others behind the same address can work.
func (x *Exchange) rejectCookie(err error) error {
	if d := x.site.Cookies.Fail(x.client()); d.Rejected {
		return tooManyAttempts(d)
	}
	x.setCookie("", 0)
	return err
}

// goToSignIn redirects a browser without a session to the sign-in page, which says so if it had one.
func (x *Exchange) goToSignIn() error {
	if _, err := x.R.Cookie(x.site.cookieName); err != nil {
		return x.GoTo("sign-in", "")
	}
	return x.GoTo("sign-in", "expired")
}

// byItself reports whether a script of an open page sent the request, as it does every 10 s, so
// that it does not prove that a user is present. Browsers say so in each request.
func (x *Exchange) byItself() bool { return x.R.Header.Get("Sec-Fetch-Dest") == "empty" }

// address returns the address of the client.
func (x *Exchange) address() netip.Addr {
	return x.site.TrustedProxies.Client(x.R.RemoteAddr, x.R.Header)
}

// client returns the client as which the doors count the address.
func (x *Exchange) client() clientnet.Net { return clientnet.Of(x.address()) }

func tooManyAttempts(d ratelimit.BucketDecision) error {
	return petcat.Errorf(petcat.CodeTooManyFailedAttempts,
		"too many attempts to sign in failed; wait a minute, then try again").
		After(time.Duration(d.RetryAfter) * time.Second)
}

func signInPage(x *Exchange) error { return x.Render("sign-in", View{Title: "Sign in"}) }

// signIn consumes the token of a link, and starts a session. Only an invalid token counts as a failed
// attempt of the client's address. A customer first sees whose account the link opens: another person may
// have sent it.
func signIn(x *Exchange) error {
	if err := x.readForm(strangersForm); err != nil {
		return err
	}
	s, ctx := x.site, context.WithoutCancel(x.R.Context())
	token, err := petcat.GenerateToken(rand.Reader)
	if err != nil {
		return err
	}
	link, err := petcat.ParseToken(x.Value("token"))
	if err == nil && s.Realm == petcat.AccountRealm && x.Value("sure") == "" {
		return x.askWhetherOwn(link)
	}
	var session petcat.Session
	if err == nil {
		err = s.Links.LookUp(x.R.Context(), x.client(), func() (err error) {
			session, err = s.Sessions.SignIn(ctx, s.Realm, link, token.Hash)
			return err
		})
	}
	if petcat.CodeOf(err) == petcat.CodeNotFound {
		return x.rejectLink(ctx, err)
	}
	if err != nil {
		return err
	}
	s.Logger.InfoContext(ctx, "signed in",
		"subject", session.Subject().String(),
		"address", x.address())
	x.setCookie(token.Secret.Reveal(), s.CookieLife)
	return x.GoTo("", "")
}

// askWhetherOwn shows whose account a link opens, and asks whether to sign in.
func (x *Exchange) askWhetherOwn(link petcat.TokenHash) error {
	s, ctx := x.site, context.WithoutCancel(x.R.Context())
	var of petcat.Subject
	err := s.Links.LookUp(x.R.Context(), x.client(), func() (err error) {
		of, err = s.Sessions.FindLink(ctx, s.Realm, link)
		return err
	})
	if petcat.CodeOf(err) == petcat.CodeNotFound {
		return x.rejectLink(ctx, err)
	}
	if err != nil {
		return err
	}
	account, err := s.Keys.FindAccount(ctx, of.Account.String())
	if err != nil {
		return err
	}
	return x.Render("sign-in-confirm", View{
		Title: "Sign in",
		Data:  account,
	})
}

// rejectLink shows the sign-in page again, with the reason why a link is invalid.
func (x *Exchange) rejectLink(ctx context.Context, reason error) error {
	s := x.site
	if d := s.Links.Fail(x.client()); d.Rejected {
		return tooManyAttempts(d)
	}
	s.Logger.WarnContext(ctx, "sign-in failed", "realm", string(s.Realm), "address", x.address())
	x.problem = Sentence(petcat.Public(reason).Message)
	return x.renderAs(http.StatusForbidden, "sign-in", View{Title: "Sign in"})
}

// signOut ends the session. It is not limited, as [Site.Limit] limits pages.
func signOut(x *Exchange) error {
	err := x.findSession()
	if petcat.CodeOf(err) == petcat.CodeNotFound {
		return x.goToSignIn()
	}
	if err != nil {
		return err
	}
	if err := x.site.Sessions.SignOut(x.R.Context(), x.token); err != nil {
		return err
	}
	x.setCookie("", 0)
	return x.GoTo("sign-in", "")
}

// SignOutEverywhere ends all sessions of the signed-in user.
func SignOutEverywhere(x *Exchange) error {
	// Without the form's once: if it is sent again, it must also end the sessions since the first time.
	_, err := x.site.Sessions.SignOutEverywhere(x.R.Context(), petcat.By(x.Actor()), x.Session.Subject())
	if err != nil {
		return err
	}
	x.setCookie("", 0)
	return x.GoTo("sign-in", "")
}
