// Package portal is the customer's page, /account on the API's listener: a customer sees what
// its account has used and why requests were refused, manages its keys, and asks for another
// plan. The server renders the pages (html/template). Package pages has the parts shared with the
// console.
//
// A customer signs in with a one-time link ([Link]). An operator creates it, or the operator's own
// site through the management API. A session belongs to one account, and its pages read and change
// this account alone. They call the same operations of the domain as the command line, with the
// customer as the actor. The package imports no store. While the store is unavailable, all pages
// answer 503.
package portal

import (
	"context"
	"embed"
	"html/template"
	"net/http"
	"net/netip"

	"petcat"
	"petcat/internal/pages"
	"petcat/internal/ratelimit"
)

// Store is the part of the store that customers may read and change.
type Store interface {
	pages.Store
	Refusals(ctx context.Context, account petcat.AccountID) ([]petcat.Refusal, error)
	RequestPlan(
		ctx context.Context, by petcat.Author, n petcat.NewPlanRequest,
	) (petcat.Result[petcat.PlanRequest], error)
	PlanRequests(ctx context.Context, q petcat.PlanRequestQuery) ([]petcat.PlanRequest, error)
}

// Options for a [Portal].
type Options struct {
	pages.Options

	Store   Store
	Limiter pages.Limiter
	// Requests counts the requests of an account's sessions.
	Requests *ratelimit.Bucket[petcat.AccountID]
}

// RequestsPerMinute is the limit of an account's requests for pages, on each node.
const RequestsPerMinute = 300

// Portal is the handler. Use [New].
type Portal struct {
	Options

	site *pages.Site
}

// Path is the path of the first page. All others are below it.
const Path = "/account"

//go:embed html
var embedded embed.FS

// New returns the portal.
func New(o Options) *Portal {
	p := &Portal{Options: o}
	p.site = pages.New(pages.Site{
		Options: o.Options, Realm: petcat.AccountRealm, Store: o.Store, Cookie: "petcat-account", CookieLife: petcat.CustomerIdle,
		Path: Path + "/", Templates: embedded, MaxForm: 16 << 10,
		Functions: template.FuncMap{"site": func() string { return "petcat" }},
		Notices:   map[string]string{"edited": "The key was changed.", "asked": "Your request was sent. This page will show the answer."},
		CheckHost: p.checkHost,
	})
	for pattern, h := range map[string]handle{
		"GET " + Path:            overview,
		"GET {$}":                overview,
		"GET usage":              usage,
		"GET usage.json":         usageChart,
		"GET keys/{key}":         on(key),
		"GET keys/{key}/revoke":  on(confirmRevoke),
		"GET ":                   func(*exchange) error { return pages.NotFound() },
		"POST plan":              withForm(requestPlan, overview),
		"POST keys":              withForm(createKey, overview),
		"POST keys/{key}":        withForm(on(editKey), on(key)),
		"POST keys/{key}/rotate": withForm(on(rotateKey), on(key)),
		"POST keys/{key}/revoke": withForm(on(revokeKey), on(key)),
	} {
		p.site.Handle(pattern, func(x *pages.Exchange) error {
			return x.SignedIn(x.R.Method == http.MethodPost, func() error { return p.answer(x, h) })
		})
	}
	return p
}

// Link returns a customer's sign-in link. The token is in the fragment, which browsers never send.
func Link(publicURL string, token petcat.Secret) string {
	return publicURL + Path + "/sign-in#" + token.Reveal()
}

// checkHost rejects all hosts but localhost without TLS.
func (p *Portal) checkHost(host string) error {
	if address, _ := netip.ParseAddr(host); p.Secure || host == "localhost" || address.IsLoopback() {
		return nil
	}
	return petcat.Errorf(petcat.CodeForbidden, "without TLS, this page works on localhost alone; the operator of this service must set --tls-cert and --tls-key, or the https address of its proxy as --public-url")
}

// ServeHTTP implements [http.Handler].
func (p *Portal) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.site.ServeHTTP(w, r) }

// answer calls the handler of a request with a session.
func (p *Portal) answer(x *pages.Exchange, h handle) error {
	if p.Requests.Take(x.Session.Account.ID).Refused {
		return petcat.Errorf(petcat.CodeRateLimitExceeded, "too many requests for the pages of this account; wait a minute, then try again")
	}
	return h(&exchange{p, x, x.Session.Account})
}

// exchange is a request and its response.
type exchange struct {
	*Portal
	*pages.Exchange

	account petcat.Account // of the session
}

// handle responds to a request, or returns an error.
type handle func(x *exchange) error

// withForm returns a handler that makes a change, and shows the form again if its input is invalid.
func withForm(change, page handle) handle {
	return func(x *exchange) error {
		return x.Again(change(x), "", func() error { return page(x) })
	}
}

// on returns a handler that is called with the key in the path, which must belong to the account.
func on(h func(*exchange, petcat.Key) error) handle {
	return func(x *exchange) error {
		id, err := petcat.ParseKeyID(x.R.PathValue("key"))
		if err != nil {
			return pages.NotFound()
		}
		k, err := x.Store.FindKey(x.R.Context(), id)
		if petcat.CodeOf(err) == petcat.CodeNotFound || err == nil && k.Account != x.account.ID {
			return petcat.Errorf(petcat.CodeNotFound, "your account has no key %s", id)
		}
		if err != nil {
			return err
		}
		return h(x, k)
	}
}
