// Package console is the web console of the admin listener. Operators see the state of the
// node and the reasons for rejections, and manage accounts, keys, bans and categories. The server
// renders the pages (html/template). Scripts update pages and draw charts; everything but the
// charts works without them.
//
// The console calls the same operations of the domain as the command line, with the operator as
// the actor, so each change is in the audit log. It does not import a store.
//
// An operator signs in with a one-time link ([SignInLink]). Each request must be sent to a name
// of this console; a change must also come from a page of the console, and from an admin. Sessions
// are in the store: while it is unavailable, every page returns 503.
package console

import (
	"context"
	"embed"
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/catalog"
	"github.com/petcat-api/petcat/internal/config"
	"github.com/petcat-api/petcat/internal/pages"
)

// List is the list of categories as the API returns it.
type List interface {
	Current(ctx context.Context, newest petcat.Revision) (list *catalog.Snapshot, age time.Duration, err error)
	Holdings(account petcat.AccountID) petcat.Holdings
}

// Part is a part of the node with its problem, "" if it is healthy.
type Part struct {
	Name    string
	Problem string
	Since   time.Time // of the problem; zero if unknown
}

// Options for a [Console].
type Options struct {
	pages.Options

	Store   Store
	List    List
	Limiter pages.Limiter
	Version string
	Node    string // the id of this node
	// Status, Parts and Nodes report the current state. Status is the word of /readyz for this node.
	Status   func() string
	Parts    func() []Part
	Nodes    func() []petcat.Node
	History  *History
	Settings []config.Value
	// LastBackup returns the last scheduled backup of any node, as html/backups.html needs it.
	LastBackup func(context.Context) (any, error)
	// CustomerLink returns a link to the customer's page; nil if that page is off.
	CustomerLink func(petcat.Secret) string
	// WebhookNetworks are the networks of receivers that are not on the Internet.
	WebhookNetworks petcat.WebhookNetworks
	URL             string // of the console in browsers, without a trailing slash
	// OwnName reports whether a host, in lower case and without a port, is a name of this
	// console. Other names may also resolve to its address (DNS rebinding).
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
		Options:    o.Options,
		Realm:      petcat.OperatorRealm,
		Cookie:     "petcat-console",
		CookieLife: petcat.SessionLife,
		Path:       base,
		MaxForm:    256 << 10, // far above the largest form, a category with a long description
		Templates:  embedded,
		Functions: template.FuncMap{
			"site":    func() string { return "petcat console" },
			"version": func() string { return o.Version },
		},
		Notices:   notices(),
		CheckHost: c.checkHost,
		Limit:     func(petcat.Session) error { return nil },
		MayChange: mayChange,
		Pages:     c.pages(),
		Forms:     c.forms(),
	})
	return c
}

// checkHost rejects hosts that are no name of this console.
func (c *Console) checkHost(host string) error {
	if c.OwnName(host) {
		return nil
	}
	return petcat.Errorf(petcat.CodeForbidden,
		"call the console by localhost, by its IP address, or by the name in --console-url")
}

// mayChange rejects viewers.
func mayChange(s petcat.Session) error {
	if s.Role.Changes() {
		return nil
	}
	return petcat.Errorf(petcat.CodeForbidden, "a viewer cannot change anything; ask an admin")
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

// notices returns the notices that are shown after a change.
func notices() map[string]string {
	return map[string]string{
		"accounts/{account} account":     "The account was created.",
		"accounts/{account} renamed":     "The account was renamed.",
		"accounts/{account} signed-out":  "All sessions and unused links of the customer's page have ended.",
		"accounts/{account} plan":        "The plan was changed. It applies within a second.",
		"accounts/{account} closed":      "The account was closed, and its keys were revoked.",
		"accounts/{account} purged":      "The account's data was deleted. The audit log shows how much.",
		"keys/{key} edited":              "The key was changed.",
		"keys/{key} disabled":            "The key was disabled.",
		"keys/{key} enabled":             "The key was enabled.",
		"keys/{key} lifted":              "The ban was lifted.",
		"bans lifted":                    "The ban was lifted.",
		"categories/{category} category": "The category was created.",
		"categories/{category} updated":  "The category was changed.",
		"categories deleted":             "The category was deleted.",
		"categories pet":                 "The pet was deleted.",
		"requests approved":              "The request was approved. The plan applies within a second.",
		"requests declined":              "The request was declined.",
		"webhooks/{webhook} tested":      "The test event is queued. Reload the page in a moment to see the result.",
		"webhooks/{webhook} enabled":     "The webhook was enabled.",
		"webhooks/{webhook} disabled":    "The webhook was disabled.",
		"webhooks deleted":               "The webhook was deleted.",
		"nodes drained":                  "The node is being drained. Within seconds, its /readyz returns 503.",
		"nodes resumed":                  "The node is being resumed. Within seconds, its /readyz returns 200.",
		"settings level":                 "The log level was set. All nodes apply it within seconds.",
		"settings reset":                 "Each node returns to its own log level within seconds.",
		"operators revoked":              "The token was revoked.",
		"operators removed":              "The operator was removed.",
		"operators operator":             "The operator was created. On the server, petcat operator link NAME prints their sign-in link.",
	}
}

// number parses a number of the form, 0 for none. called is the field's name in the error.
func number(x *pages.Exchange, name, called string) (int64, error) {
	text := strings.ReplaceAll(x.Value(name), ",", "")
	if text == "" {
		return 0, nil
	}
	n, isNumber := petcat.ParseNumber(text)
	if !isNumber {
		return 0, petcat.Errorf(petcat.CodeInvalidField,
			"%s must be a number (got %.50q)", called, text).In(name)
	}
	return n, nil
}

// id parses a numeric id, 0 for none.
func id(text string) int64 {
	n, _ := petcat.ParseID(text)
	return n
}
