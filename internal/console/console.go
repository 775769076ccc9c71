// Package console is the web console of the admin listener. Operators see the state of the
// node and why callers are refused, and manage accounts, keys, bans and categories. The
// server renders the pages (html/template). Scripts, htmx and uPlot, are served from the
// binary; they update pages and draw charts, and the pages work without them.
//
// It calls the same operations of the domain as the command line, with the operator as the
// actor, so that each change is in the audit log and reaches every node in the same way. It
// knows no store.
//
// An operator signs in with a link that works once ([SignInLink]). Each request must be sent
// to a name of this console; a change must also come from a page of the console, and from
// an operator who may make changes. While the store is unavailable, nobody can sign in or
// change anything; who was just signed in sees what the node knows.
package console

import (
	"context"
	"html/template"
	"io"
	"log/slog"
	"net/http"
	"net/http/pprof" // its own registration is with a mux that nothing serves
	"strings"
	"sync"
	"time"

	"petcat"
	"petcat/internal/catalog"
	"petcat/internal/clientnet"
	"petcat/internal/clock"
	"petcat/internal/pages"
	"petcat/internal/ratelimit"
)

// Store is what the console reads and changes.
type Store interface { //nolint:interfacebloat // a sum of small ones
	petcat.AccountStore
	petcat.KeyStore
	petcat.BanStore
	petcat.AuditStore
	petcat.CategoryStore
	petcat.OperatorStore
	petcat.SessionStore
	petcat.UsageStore
	petcat.PlanRequestStore
	petcat.OperatorTokenStore
	CategoryOrigins(ctx context.Context, ids []petcat.CategoryID) ([]petcat.CategoryOrigin, error)
}

// List is what the API shows of the categories.
type List interface {
	Current(ctx context.Context, newest petcat.Revision) (list *catalog.Snapshot, age time.Duration, err error)
}

// Limiter reports how much of its quotas an account has used, without charging it.
type Limiter interface {
	Peek(ctx context.Context, c ratelimit.Charge) (ratelimit.Decision, error)
}

// Part is a part of the node and what is wrong with it, "" if nothing is wrong.
type Part struct {
	Name, Problem string
	Since         time.Time // when that began; zero: not known
}

// Backup is the last scheduled backup that was verified; the zero value before the first.
type Backup struct {
	TakenAt time.Time
	Host    string // the machine that made it
	File    string // its path there
	Size    int64  // in bytes
	Seconds float64
}

// Setting is a setting in force, as people may see it.
type Setting struct{ Flag, Variable, Value, Origin string }

// Options for a [Console].
type Options struct {
	Store       Store
	List        List
	Limiter     Limiter
	Environment petcat.Environment
	Version     string
	// Deployment identifies what the console shows. Cookies know no ports: without it, two
	// consoles on one host would end each other's sessions.
	Deployment string
	Node       string // the id of this node
	// Parts and Nodes report the present state.
	Parts    func() []Part
	Nodes    func() []petcat.Node
	History  *History
	Settings []Setting
	// LastBackup returns the last backup of any node.
	LastBackup func(context.Context) (Backup, error)
	URL        string // of this console in browsers, without a slash at the end
	// Secure says that browsers reach the console over TLS. Without TLS, the console must
	// be on the loopback.
	Secure bool
	// OwnName reports whether a host, in lower case and without a port, is a name of this
	// console. Other web sites can let their names resolve to its address (DNS rebinding).
	OwnName func(host string) bool
	// Failures counts failed attempts to sign in, by address.
	Failures *ratelimit.Bucket[clientnet.Net]
	// TrustedProxies are the proxies whose X-Forwarded-For is trusted. Optional.
	TrustedProxies *clientnet.Proxies
	Clock          clock.Clock
	Logger         *slog.Logger
	Random         io.Reader // cryptographically secure
}

// Console is the handler. Use [New].
type Console struct {
	Options

	mux     *http.ServeMux
	pages   map[string]*template.Template
	origins *http.CrossOriginProtection

	mu   sync.Mutex
	seen map[petcat.TokenHash]seen // guarded by mu: verified within trustedFor
}

// base is the path of all pages.
const base = "/console/"

// New returns the console.
func New(o Options) *Console {
	c := &Console{Options: o, mux: http.NewServeMux(), pages: pages.Load(embedded, base), origins: http.NewCrossOriginProtection(), seen: make(map[petcat.TokenHash]seen)}
	c.routes()
	return c
}

// now returns the wall clock's time in UTC.
func (c *Console) now() time.Time { return c.Clock.Read().Time() }

func (c *Console) routes() {
	account, key, category := on(findAccount, account), on(findKey, key), on(findCategory, category)
	closing, deleting := on(findAccount, confirmClose), on(findCategory, confirmDelete)
	for pattern, page := range map[string]handle{
		"GET {$}":                           overview,
		"GET history.json":                  charts,
		"POST find":                         find,
		"GET accounts":                      accounts,
		"GET accounts/{account}":            account,
		"GET accounts/{account}/close":      mayChange(closing),
		"GET keys/{key}":                    key,
		"GET keys/{key}/revoke":             mayChange(on(findKey, confirmRevoke)),
		"GET bans":                          bans,
		"GET requests":                      requests,
		"GET categories":                    categories,
		"GET categories/{category}":         category,
		"GET categories/{category}/delete":  mayChange(deleting),
		"GET audit":                         audit,
		"GET usage":                         usage,
		"GET usage.csv":                     usageCSV,
		"GET usage.json":                    usageChart,
		"GET accounts/{account}/usage":      usage,
		"GET accounts/{account}/usage.csv":  usageCSV,
		"GET accounts/{account}/usage.json": usageChart,
		"GET settings":                      settings,
		"GET nodes":                         nodes,
		"GET operators":                     operators,
		"GET operators/{operator}/remove":   mayChange(on(findOperator, confirmRemove)),
		"GET backups":                       backups,
		"GET ":                              notFoundPage,
	} {
		c.handle(pattern, signedIn(page))
	}
	for pattern, change := range map[string]handle{
		"POST accounts":                     withForm(accounts, once(createAccount), "name"),
		"POST accounts/{account}/plan":      withForm(account, on(findAccount, changePlan), ""),
		"POST accounts/{account}/close":     withForm(closing, on(findAccount, closeAccount), "typed"),
		"POST accounts/{account}/keys":      withForm(account, once(on(findAccount, createKey)), "expires"),
		"POST keys/{key}/rotate":            withForm(key, once(on(findKey, rotateKey)), ""),
		"POST keys/{key}/disable":           withForm(key, on(findKey, changeKey(petcat.DisableKey, "disabled")), ""),
		"POST keys/{key}/enable":            withForm(key, on(findKey, changeKey(petcat.EnableKey, "enabled")), ""),
		"POST keys/{key}/revoke":            withForm(key, on(findKey, changeKey(petcat.RevokeKey, "revoked")), ""),
		"POST bans/{key}/lift":              liftBan,
		"POST requests/{request}/approve":   withForm(requests, approvePlan, ""),
		"POST requests/{request}/decline":   withForm(requests, declinePlan, ""),
		"POST operators":                    withForm(operators, once(createOperator), "name"),
		"POST operators/{operator}/link":    on(findOperator, linkOperator),
		"POST operators/{operator}/remove":  on(findOperator, removeOperator),
		"POST categories":                   withForm(categories, createCategory, "name"),
		"POST categories/{category}":        withForm(category, on(findCategory, updateCategory), ""),
		"POST categories/{category}/delete": withForm(deleting, on(findCategory, deleteCategory), ""),
	} {
		c.handle(pattern, signedIn(mayChange(change)))
	}
	for path, profile := range map[string]http.HandlerFunc{
		"/debug/pprof/": pprof.Index, "/debug/pprof/cmdline": pprof.Cmdline, "/debug/pprof/profile": pprof.Profile,
		"/debug/pprof/symbol": pprof.Symbol, "/debug/pprof/trace": pprof.Trace,
	} {
		c.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			c.serve(w, r, signedIn(func(*exchange) error { profile(w, r); return nil }))
		})
	}
	c.handle("GET sign-in", signInPage)
	c.handle("POST sign-in", signIn)
	c.handle("POST sign-out", signedIn(signOut))
	c.handle("POST sign-out-everywhere", signedIn(signOutEverywhere))
	for name, file := range pages.Files() {
		c.mux.Handle("GET "+base+"files/"+name, file)
	}
}

// handle registers a handler for a method and a path below [base].
func (c *Console) handle(pattern string, h handle) {
	method, path, _ := strings.Cut(pattern, " ")
	c.mux.HandleFunc(method+" "+base+path, func(w http.ResponseWriter, r *http.Request) { c.serve(w, r, h) })
}
