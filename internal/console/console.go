// Package console is the web console of the admin listener. Operators see the state of the
// node and the reasons for refusals, and manage accounts, keys, bans and categories. The server
// renders the pages (html/template). Scripts update pages and draw charts; everything but the
// charts works without them.
//
// The console calls the same operations of the domain as the command line, with the operator as
// the actor, so each change is in the audit log. It imports no store.
//
// An operator signs in with a one-time link ([SignInLink]). Each request must be sent to a name
// of this console; a change must also come from a page of the console, and from an admin. Sessions
// are in the store: while it is unavailable, every page answers 503.
package console

import (
	"context"
	"embed"
	"html/template"
	"net/http"
	"net/http/pprof" // it also registers itself with http.DefaultServeMux, which is not served
	"strconv"
	"strings"
	"time"

	"petcat"
	"petcat/internal/catalog"
	"petcat/internal/config"
	"petcat/internal/pages"
)

// Store is the part of the store that the console uses.
type Store interface {
	pages.Store
	petcat.ManagementStore
	petcat.CategoryStore
	petcat.OperatorStore
	CategoryOrigins(ctx context.Context, ids []petcat.CategoryID) ([]petcat.CategoryOrigin, error)
}

// List is the list of categories as the API returns it.
type List interface {
	Current(ctx context.Context, newest petcat.Revision) (list *catalog.Snapshot, age time.Duration, err error)
}

// Part is a part of the node with its problem, "" if it is healthy.
type Part struct {
	Name, Problem string
	Since         time.Time // of the problem; zero if unknown
}

// Options for a [Console].
type Options struct {
	pages.Options

	Store   Store
	List    List
	Limiter pages.Limiter
	Version string
	Node    string // the id of this node
	// Parts and Nodes report the current state.
	Parts    func() []Part
	Nodes    func() []petcat.Node
	History  *History
	Settings []config.Value
	// LastBackup returns the last scheduled backup of any node, as html/backups.html needs it.
	LastBackup func(context.Context) (any, error)
	URL        string // of the console in browsers, without a trailing slash
	// OwnName reports whether a host, in lower case and without a port, is a name of this
	// console. Other names may resolve to its address, too (DNS rebinding).
	OwnName func(host string) bool
}

// Console is the handler. Use [New].
type Console struct {
	Options

	site *pages.Site
}

// base is the path of all pages.
const base = "/console/"

//go:embed html
var embedded embed.FS

// New returns the console.
func New(o Options) *Console {
	c := &Console{Options: o}
	c.site = pages.New(pages.Site{
		Options: o.Options, Realm: petcat.OperatorRealm, Store: o.Store,
		Cookie: "petcat-console", CookieLife: petcat.SessionLife, Path: base, Templates: embedded, Notices: notices,
		MaxForm: 256 << 10, // far above the largest form, a category with a long description
		Functions: template.FuncMap{
			"site":    func() string { return "petcat console" },
			"version": func() string { return o.Version },
		},
		CheckHost: func(host string) error {
			if !o.OwnName(host) {
				return petcat.Errorf(petcat.CodeForbidden, "call the console by localhost, by its IP address, or by the name in --console-url")
			}
			return nil
		},
	})
	c.routes()
	return c
}

// SignInLink returns an operator's sign-in link. The token is in the fragment, which browsers
// never send.
func SignInLink(url string, token petcat.Secret) string {
	return url + base + "sign-in#" + token.Reveal()
}

// now returns the wall clock's time in UTC.
func (c *Console) now() time.Time { return c.Clock.Read().Time() }

// ServeHTTP implements [http.Handler].
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.site.ServeHTTP(w, r) }

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
		"GET ":                              func(*exchange) error { return pages.NotFound() },
	} {
		c.handle(pattern, false, page)
	}
	for pattern, change := range map[string]handle{
		"POST accounts":                     withForm(accounts, createAccount, "plan"),
		"POST accounts/{account}/plan":      withForm(account, on(findAccount, changePlan), "plan"),
		"POST accounts/{account}/close":     withForm(closing, on(findAccount, closeAccount), "typed"),
		"POST accounts/{account}/keys":      withForm(account, on(findAccount, createKey), "expires"),
		"POST keys/{key}/rotate":            withForm(key, on(findKey, rotateKey), ""),
		"POST keys/{key}/disable":           withForm(key, on(findKey, changeKey(petcat.DisableKey, "disabled")), ""),
		"POST keys/{key}/enable":            withForm(key, on(findKey, changeKey(petcat.EnableKey, "enabled")), ""),
		"POST keys/{key}/revoke":            withForm(key, on(findKey, changeKey(petcat.RevokeKey, "revoked")), ""),
		"POST bans/{key}/lift":              liftBan,
		"POST requests/{request}/approve":   withForm(requests, approvePlan, ""),
		"POST requests/{request}/decline":   withForm(requests, declinePlan, ""),
		"POST operators":                    withForm(operators, createOperator, "name"),
		"POST operators/{operator}/link":    on(findOperator, linkOperator),
		"POST operators/{operator}/remove":  on(findOperator, removeOperator),
		"POST categories":                   withForm(categories, createCategory, "name"),
		"POST categories/{category}":        withForm(category, on(findCategory, updateCategory), ""),
		"POST categories/{category}/delete": withForm(deleting, deleteCategory, ""),
	} {
		c.handle(pattern, true, mayChange(change))
	}
	for path, profile := range map[string]http.HandlerFunc{
		"/debug/pprof/": pprof.Index, "/debug/pprof/profile": pprof.Profile, "/debug/pprof/symbol": pprof.Symbol,
		"/debug/pprof/trace": pprof.Trace, // not pprof.Cmdline: the arguments may contain a password
	} {
		c.handle("GET "+path, false, func(x *exchange) error { profile(x.W, x.R); return nil })
	}
	c.site.Handle("POST sign-out-everywhere", func(x *pages.Exchange) error { return x.SignedIn(false, x.SignOutEverywhere) })
}

// handle registers a handler that needs a session, for a method and a path. change is true if the
// handler changes something.
func (c *Console) handle(pattern string, change bool, h handle) {
	c.site.Handle(pattern, func(x *pages.Exchange) error {
		return x.SignedIn(change, func() error { return h(&exchange{c, x}) })
	})
}

// exchange is a request and its answer.
type exchange struct {
	*Console
	*pages.Exchange
}

// handle answers a request, or returns an error.
type handle func(x *exchange) error

// number parses a number of the form, 0 for none.
func (x *exchange) number(name, called string) (int64, error) {
	text := strings.ReplaceAll(x.Value(name), ",", "")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, petcat.Errorf(petcat.CodeInvalidField, "%s must be a number (got %.50q)", called, text).In(name)
	}
	return n, nil
}

// notices are shown after a change.
var notices = map[string]string{ //nolint:gochecknoglobals // a constant
	"account": "The account was created.", "plan": "The plan was changed. It applies within a second.",
	"closed": "The account was closed, and its keys were revoked.", "disabled": "The key was disabled.",
	"enabled": "The key was enabled.", "lifted": "The ban was lifted.",
	"category": "The category was created.", "updated": "The category was changed.", "deleted": "The category was deleted.",
	"approved": "The request was approved. The plan applies within a second.", "declined": "The request was declined.", "removed": "The operator was removed.",
}

// on returns a handler that is called with the object in the path.
func on[T any](find func(*exchange) (T, error), h func(*exchange, T) error) handle {
	return func(x *exchange) error {
		found, err := find(x)
		if err != nil {
			return err
		}
		return h(x, found)
	}
}

// withForm returns a handler that shows the page of a form again if the input breaks a rule. An
// error that names no field is shown at field, or for "" at the top of the page.
func withForm(page, change handle, field string) handle {
	return func(x *exchange) error { return x.Again(change(x), field, func() error { return page(x) }) }
}

// mayChange returns a handler for operators who may make changes.
func mayChange(next handle) handle {
	return func(x *exchange) error {
		if !x.Session.Role.Changes() {
			return petcat.Errorf(petcat.CodeForbidden, "a viewer cannot change anything; ask an admin")
		}
		return next(x)
	}
}
