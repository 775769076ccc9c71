// Package portal is the customer's page, /account on the API's listener: a customer sees what
// its account has used and why requests were refused, manages its keys, and asks for another
// plan. The server renders the pages (html/template), with the look and the scripts of package
// pages.
//
// A customer signs in with a link that works once ([Link]), which an operator makes, or the
// operator's own site through the management API. A session is of one account, and nothing here
// reads or changes another one. It calls the same operations of the domain as the command
// line, with the customer as the actor, and knows no store. While the store is unavailable,
// pages say so with status 503.
package portal

import (
	"context"
	"html/template"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"petcat"
	"petcat/internal/clientnet"
	"petcat/internal/clock"
	"petcat/internal/pages"
	"petcat/internal/ratelimit"
)

// Store is what customers may read and change.
type Store interface { //nolint:interfacebloat // all that a customer can do
	petcat.CustomerStore
	petcat.KeyStore
	FindAccount(ctx context.Context, ref string) (petcat.Account, error)
	BanPage(ctx context.Context, q petcat.BanQuery) ([]petcat.Ban, error)
	Usage(ctx context.Context, q petcat.UsageQuery) (petcat.UsageHistory, error)
	Refusals(ctx context.Context, account petcat.AccountID) ([]petcat.Refusal, error)
	RequestPlan(ctx context.Context, n petcat.NewPlanRequest) (petcat.PlanRequest, error)
	PlanRequests(ctx context.Context, q petcat.PlanRequestQuery) ([]petcat.PlanRequest, error)
}

// Limiter reports how much of its quotas an account has used, without charging it.
type Limiter interface {
	Peek(ctx context.Context, c ratelimit.Charge) (ratelimit.Decision, error)
}

// Options for a [Portal].
type Options struct {
	Store       Store
	Limiter     Limiter
	Environment petcat.Environment
	// Deployment identifies what the pages show. Cookies know no ports: without it, two
	// deployments on one host would end each other's sessions.
	Deployment string
	// Prefix is the path of the public URL, "" for none: browsers see it before every path.
	Prefix string
	// Secure says that browsers reach the pages over TLS. Without TLS, they are only for a
	// browser on the same machine.
	Secure bool
	// Failures counts failed attempts to sign in, and Strangers cookies of no session, by
	// address; Requests counts what the sessions of an account ask for.
	Failures, Strangers *ratelimit.Bucket[clientnet.Net]
	Requests            *ratelimit.Bucket[petcat.AccountID]
	// TrustedProxies are the proxies whose X-Forwarded-For is trusted. Optional.
	TrustedProxies *clientnet.Proxies
	Clock          clock.Clock
	Logger         *slog.Logger
	Random         io.Reader // cryptographically secure
}

// How much may be asked for in a minute, on each node.
const (
	FailuresPerMinute = 10
	RequestsPerMinute = 300
)

// Portal is the handler. Use [New].
type Portal struct {
	Options

	base    string // the path that browsers see before those of all pages
	mux     *http.ServeMux
	pages   map[string]*template.Template
	keys    pages.Keys
	origins *http.CrossOriginProtection
}

// Path is where the pages are: this one, and all below it.
const Path = "/account"

// New returns the portal.
func New(o Options) *Portal {
	base := o.Prefix + Path + "/"
	p := &Portal{
		Options: o, base: base, mux: http.NewServeMux(), pages: pages.Load(embedded, base), origins: http.NewCrossOriginProtection(),
		keys: pages.Keys{Store: o.Store, KeyGenerator: petcat.KeyGenerator{Environment: o.Environment, Random: o.Random}},
	}
	for pattern, h := range map[string]handle{
		"GET ":                    signedIn(overview),
		"GET /{$}":                signedIn(overview),
		"GET /usage":              signedIn(usage),
		"GET /usage.json":         signedIn(usageChart),
		"GET /keys/{key}":         signedIn(on(key)),
		"GET /keys/{key}/revoke":  signedIn(on(confirmRevoke)),
		"GET /":                   signedIn(nothingHere),
		"GET /sign-in":            signInPage,
		"POST /sign-in":           signIn,
		"POST /sign-out":          signedIn(signOut),
		"POST /plan":              signedIn(withForm(requestPlan, overview)),
		"POST /keys":              signedIn(withForm(createKey, overview)),
		"POST /keys/{key}":        signedIn(withForm(on(editKey), on(key))),
		"POST /keys/{key}/rotate": signedIn(withForm(on(rotateKey), on(key))),
		"POST /keys/{key}/revoke": signedIn(withForm(on(revokeKey), on(key))),
	} {
		method, path, _ := strings.Cut(pattern, " ")
		p.mux.HandleFunc(method+" "+Path+path, func(w http.ResponseWriter, r *http.Request) { p.serve(w, r, h) })
	}
	for name, file := range pages.Files() {
		p.mux.Handle("GET "+Path+"/files/"+name, file)
	}
	return p
}

// now returns the wall clock's time in UTC.
func (p *Portal) now() time.Time { return p.Clock.Read().Time() }

// maxForm is far above the largest form, that of a long note, in bytes.
const maxForm = 64 << 10

// ServeHTTP implements [http.Handler].
func (p *Portal) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	pages.Secure(w.Header())
	host := pages.HostOf(r.Host)
	address, _ := netip.ParseAddr(host)
	x := &exchange{Portal: p, w: w, r: r}
	switch {
	case !p.Secure && host != "localhost" && !address.IsLoopback():
		x.fail(petcat.Errorf(petcat.CodeForbidden, "without TLS, this page works on localhost alone: whoever runs the service sets --tls-cert and --tls-key, or the https address of its proxy as --public-url"))
	case p.origins.Check(r) != nil:
		x.fail(petcat.Errorf(petcat.CodeForbidden, "this request comes from a page of another origin; make the change on the page of your account"))
	default:
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		p.mux.ServeHTTP(w, r)
	}
}

// serve lets a handler answer.
func (p *Portal) serve(w http.ResponseWriter, r *http.Request, h handle) {
	x := &exchange{Portal: p, w: w, r: r}
	if err := r.ParseForm(); err != nil {
		x.fail(petcat.Errorf(petcat.CodeInvalidField, "the form cannot be read: it is too long, or not encoded as a browser does").WithCause(err))
		return
	}
	x.notice = notices[r.Form.Get("done")]
	if err := h(x); err != nil {
		x.fail(err)
	}
}
