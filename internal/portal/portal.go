// Package portal is the customer's page, /account on the API's listener: a customer sees what
// its account has used and why requests were rejected, manages its keys, and asks for another
// plan. The server renders the pages (html/template). Package pages has the parts shared with the
// console.
//
// A customer signs in with a one-time link ([Link]). An operator creates it, or the operator's own
// site through the management API. A session belongs to one account, and its pages read and change only
// this account. They call the same operations of the domain as the command line, with the customer as the
// actor. The package does not import a store. While the store is unavailable, all pages return 503.
package portal

import (
	"context"
	"embed"
	"html/template"
	"net/http"
	"net/netip"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clientnet"
	"github.com/petcat-api/petcat/internal/pages"
	"github.com/petcat-api/petcat/internal/ratelimit"
	"github.com/petcat-api/petcat/internal/web"
)

// Store has the methods of the store that the portal calls; see also [github.com/petcat-api/petcat/internal/pages.Keys].
type Store interface {
	FindKey(ctx context.Context, id petcat.KeyID) (petcat.Key, error)
	Rejections(ctx context.Context, account petcat.AccountID) ([]petcat.Rejection, error)
	RequestPlan(
		ctx context.Context, by petcat.Author, n petcat.NewPlanRequest,
	) (petcat.Result[petcat.PlanRequest], error)
	PlanRequests(ctx context.Context, q petcat.PlanRequestQuery) ([]petcat.PlanRequest, error)
	Usage(ctx context.Context, q petcat.UsageQuery) (petcat.UsageHistory, error)
	UsageParts(ctx context.Context, q petcat.UsageQuery) ([]petcat.UsagePart, error)
}

// Options for a [Portal].
type Options struct {
	pages.Options

	Store   Store
	Limiter pages.Limiter
	// Holdings returns what an account stores.
	Holdings func(petcat.AccountID) petcat.Holdings
	// Requests counts the requests of an account's sessions.
	Requests *ratelimit.Bucket[petcat.AccountID]
}

// RequestsPerMinute is the limit of page requests per account and node.
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
		Options:    o.Options,
		Realm:      petcat.AccountRealm,
		Cookie:     "petcat-account",
		CookieLife: petcat.CustomerIdle,
		Path:       Path + "/",
		MaxForm:    16 << 10,
		Templates:  embedded,
		Functions: template.FuncMap{
			"site": func() string { return "petcat" },
		},
		Notices: map[string]string{
			"keys/{key} edited": "The key was changed.",
			Path + " asked":     "Your request was sent. This page will show the decision.",
			"{$} asked":         "Your request was sent. This page will show the decision.",
		},
		CheckHost: p.checkHost,
		Limit:     p.limit,
		MayChange: func(petcat.Session) error { return nil },
		Pages:     p.pages(),
		Forms:     p.forms(),
	})
	return p
}

// pages returns all pages.
func (p *Portal) pages() []pages.Page {
	return []pages.Page{
		{Path: Path, Show: p.overview},
		{Path: "{$}", Show: p.overview},
		{Path: "usage", Show: p.usage},
		{Path: "usage.json", Show: p.usageChart},
		{Path: "keys/{key}", Show: p.key},
		{Path: "keys/{key}/revoke", Show: p.confirmRevoke},
		{Path: "sign-out-everywhere", Show: pages.SignOutEverywhere, Method: http.MethodPost},
	}
}

// forms returns all forms.
func (p *Portal) forms() []pages.Form {
	return []pages.Form{
		{Path: "plan", Change: p.requestPlan, Page: p.overview, Fields: []string{"plan", "note"}},
		{Path: "keys", Change: p.createKey, Page: p.overview, Fields: pages.NewKeyFields()},
		{Path: "keys/{key}", Change: p.editKey, Page: p.key, Fields: pages.EditKeyFields()},
		{Path: "keys/{key}/rotate", Change: p.rotateKey, Page: p.key, Fields: pages.RotateFields()},
		{Path: "keys/{key}/revoke", Change: p.revokeKey, Page: p.key},
	}
}

// Link returns a customer's sign-in link. The token is in the fragment, which browsers never send.
func Link(publicURL string, token petcat.Secret) string {
	return publicURL + Path + "/sign-in#" + token.Reveal()
}

// checkHost rejects all hosts but localhost without TLS.
func (p *Portal) checkHost(host string) error {
	address, _ := netip.ParseAddr(host)
	if p.Secure || host == "localhost" || address.IsLoopback() {
		return nil
	}
	return errNeedsTLS()
}

func errNeedsTLS() error {
	return petcat.Errorf(petcat.CodeForbidden,
		"without TLS, this page works on localhost alone; the operator of this service must set "+
			"--tls-cert and --tls-key, or the https address of its proxy as --public-url")
}

// limit rejects an account's requests over the limit.
func (p *Portal) limit(s petcat.Session) error {
	if d := p.Requests.Take(s.Account.ID); d.Rejected {
		return petcat.Errorf(petcat.CodeRateLimitExceeded,
			"too many requests for the pages of this account; wait a minute, then try again").
			After(time.Duration(d.RetryAfter) * time.Second)
	}
	return nil
}

// ServeHTTP implements [http.Handler]. Without TLS, it serves only this machine: a remote client can send
// any host.
func (p *Portal) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !p.Secure && !clientnet.Remote(r.RemoteAddr).IsLoopback() {
		web.WriteError(w, petcat.Public(errNeedsTLS()))
		return
	}
	p.site.ServeHTTP(w, r)
}

// now returns the wall clock's time in UTC.
func (p *Portal) now() time.Time { return p.Clock.Read().Time() }
