package portal

import (
	"embed"
	"net/http"
	"net/url"
	"strings"
	"time"

	"petcat"
	"petcat/internal/httpapi"
	"petcat/internal/pages"
)

//go:embed pages
var embedded embed.FS

// exchange is one request and its answer.
type exchange struct {
	*Portal

	w       http.ResponseWriter
	r       *http.Request
	token   petcat.TokenHash
	account petcat.Account // zero unless somebody is signed in
	// notice and problem are shown at the top of the page, "" for none.
	notice, problem string
}

// handle answers a request, or returns an error.
type handle func(x *exchange) error

// view is what a page shows.
type view struct {
	Title   string // of the page
	Section string // of the navigation
	Data    any

	// The rest is filled in for every page.
	Account         petcat.Account // zero if nobody is signed in
	Environment     petcat.Environment
	Prefix          string
	Form            url.Values
	Notice, Problem string
	Now             time.Time
}

// render answers with a page; a problem makes its status 400.
func (x *exchange) render(page string, v view) error {
	status := http.StatusOK
	if x.problem != "" {
		status = http.StatusBadRequest
	}
	return x.renderAs(status, page, v)
}

// renderAs is render with a status. It returns nil.
func (x *exchange) renderAs(status int, page string, v view) error {
	v.Account, v.Environment, v.Prefix, v.Form, v.Now = x.account, x.Environment, x.Prefix, x.r.Form, x.now()
	v.Notice, v.Problem = x.notice, x.problem
	if err := pages.Write(x.w, status, x.pages[page], v); err != nil {
		x.Logger.ErrorContext(x.r.Context(), "a customer's page cannot be rendered", "page", page, "error", err)
	}
	return nil
}

// fail answers with an error.
func (x *exchange) fail(err error) {
	public := petcat.Public(err)
	status, message := httpapi.StatusOf(public.Code), pages.Sentence(public.Message)
	if status == http.StatusInternalServerError {
		x.Logger.ErrorContext(x.r.Context(), "a customer's page failed", "method", x.r.Method, "path", x.r.URL.Path, "error", err)
		message += " If this goes on, tell whoever runs the service the number " + x.w.Header().Get("X-Request-Id") + "."
	}
	x.notice, x.problem = "", ""
	_ = x.renderAs(status, "error", view{Title: http.StatusText(status), Data: message})
}

// value returns a value of the form or of the query, without blanks around it.
func (x *exchange) value(name string) string { return strings.TrimSpace(x.r.Form.Get(name)) }

// goTo redirects the browser to a page; its done says what was done. It returns nil.
func (x *exchange) goTo(path string) error {
	pages.Redirect(x.w, x.r, strings.TrimSuffix(x.base+path, "/"))
	return nil
}

// notices are what pages say about a change that was made.
var notices = map[string]string{ //nolint:gochecknoglobals // a table that nobody changes
	"edited": "The key was changed.", "revoked": "The key was revoked.",
	"asked": "Your request was sent. This page will show the answer.",
	"ended": "Your session has ended, and nothing was changed. Sign in with a new link.",
}

// withForm returns a handler that shows the page of a form again if the input breaks a rule.
func withForm(change, page handle) handle {
	return func(x *exchange) error {
		err := change(x)
		if petcat.CodeOf(err) != petcat.CodeInvalidField {
			return err
		}
		x.problem = pages.Sentence(petcat.Public(err).Message)
		return page(x)
	}
}

// on returns a handler that is called with the key that the path names, which must be one of
// the account.
func on(h func(*exchange, petcat.Key) error) handle {
	return func(x *exchange) error {
		id, err := petcat.ParseKeyID(x.r.PathValue("key"))
		if err != nil {
			return nothingHere(x)
		}
		k, err := x.Store.FindKey(x.r.Context(), id)
		if petcat.CodeOf(err) == petcat.CodeNotFound || err == nil && k.Account != x.account.ID {
			return petcat.Errorf(petcat.CodeNotFound, "your account has no key %s", id)
		}
		if err != nil {
			return err
		}
		return h(x, k)
	}
}

// nothingHere returns the error for an address without a page.
func nothingHere(*exchange) error {
	return petcat.Errorf(petcat.CodeNotFound, "there is nothing at this address")
}
