package portal

import (
	"net/http"
	"net/netip"
	"time"

	"petcat"
	"petcat/internal/clientnet"
	"petcat/internal/pages"
)

// Link returns the link that a customer signs in with. The token is in the fragment: browsers
// send that to nobody, neither in a request nor in Referer.
func Link(publicURL string, token petcat.Secret) string {
	return publicURL + Path + "/sign-in#" + token.Reveal()
}

// cookie is the name of the cookie, with the deployment's in it.
func (p *Portal) cookie() string { return "petcat-account-" + p.Deployment }

// setCookie sets the cookie for a time; 0 removes it.
func (x *exchange) setCookie(token string, life time.Duration) {
	http.SetCookie(x.w, pages.Cookie(x.cookie(), token, x.Secure, life))
}

// signedIn returns a handler that needs a session. It redirects other requests to the page
// for signing in.
func signedIn(next handle) handle {
	return func(x *exchange) error {
		cookie, err := x.r.Cookie(pages.CookieName(x.cookie(), x.Secure))
		if err != nil {
			return x.goTo("sign-in")
		}
		err = x.findSession(cookie.Value)
		switch {
		case petcat.CodeOf(err) == petcat.CodeNotFound:
			x.setCookie("", 0)
			return x.goTo("sign-in?done=ended")
		case err != nil:
			return err
		case x.Requests.Take(x.account.ID).Refused:
			return petcat.Errorf(petcat.CodeRateLimitExceeded, "too many requests for the pages of this account; wait a minute, then try again")
		}
		return next(x)
	}
}

// findSession finds the session of a cookie, and its account.
func (x *exchange) findSession(cookie string) (err error) {
	from := clientnet.Of(x.address())
	if x.Strangers.Peek(from).Minute.Remaining <= 0 {
		return tooManyAttempts()
	}
	if x.token, err = petcat.ParseToken(cookie); err != nil {
		return err
	}
	session, err := x.Store.FindCustomer(x.r.Context(), x.token)
	if err == nil {
		x.account, err = x.Store.FindAccount(x.r.Context(), session.Account.String())
	} else if petcat.CodeOf(err) == petcat.CodeNotFound {
		x.Strangers.Take(from)
	}
	// What a script of an open page asks for does not show that somebody is there. Browsers
	// say so in each request.
	if err == nil && session.Stale(x.now()) && x.r.Header.Get("Sec-Fetch-Dest") != "empty" {
		err = x.Store.TouchCustomer(x.r.Context(), x.token)
		x.setCookie(cookie, petcat.CustomerIdle)
	}
	return err
}

// address returns the address of the client.
func (x *exchange) address() netip.Addr {
	return x.TrustedProxies.Client(x.r.RemoteAddr, x.r.Header)
}

func tooManyAttempts() error {
	return petcat.Errorf(petcat.CodeTooManyFailedAttempts, "too many attempts to sign in failed; wait a minute, then try again")
}

func signInPage(x *exchange) error { return x.render("sign-in", view{Title: "Sign in"}) }

// signIn uses up the token of a link, and begins a session.
func signIn(x *exchange) error {
	from := x.address()
	if x.Failures.Peek(clientnet.Of(from)).Minute.Remaining <= 0 {
		return tooManyAttempts()
	}
	token, err := petcat.GenerateToken(x.Random)
	if err != nil {
		return err
	}
	link, err := petcat.ParseToken(x.value("token"))
	var session petcat.CustomerSession
	if err == nil {
		session, err = x.Store.SignInCustomer(x.r.Context(), link, token.Hash)
	}
	switch {
	case petcat.CodeOf(err) == petcat.CodeNotFound:
		x.Failures.Take(clientnet.Of(from))
		x.Logger.WarnContext(x.r.Context(), "a customer's attempt to sign in failed", "address", from)
		x.problem = pages.Sentence(petcat.Public(err).Message)
		return x.renderAs(http.StatusForbidden, "sign-in", view{Title: "Sign in"})
	case err != nil:
		return err
	}
	x.Logger.InfoContext(x.r.Context(), "a customer signed in", "account", session.Account, "address", from)
	x.setCookie(token.Secret.Reveal(), petcat.CustomerIdle)
	return x.goTo("")
}

func signOut(x *exchange) error {
	if err := x.Store.SignOutCustomer(x.r.Context(), x.token); err != nil {
		return err
	}
	x.setCookie("", 0)
	return x.goTo("sign-in")
}
