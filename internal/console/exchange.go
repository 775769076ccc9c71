package console

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"petcat"
	"petcat/internal/httpapi"
	"petcat/internal/pages"
)

// exchange is one request and its answer.
type exchange struct {
	*Console

	w       http.ResponseWriter
	r       *http.Request
	session petcat.Session // zero unless somebody is signed in
	token   petcat.TokenHash
	away    bool // the store did not verify the session, which was verified before
	// notice is shown at the top of the page, "" for none, and problem too, or at the field wrong
	// of the form.
	notice, problem, wrong string
}

// handle answers a request, or returns an error.
type handle func(x *exchange) error

// maxForm is far above the largest form, that of a category with a long description.
const maxForm = 256 << 10

// ServeHTTP implements [http.Handler].
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	pages.Secure(w.Header())
	x := &exchange{Console: c, w: w, r: r}
	switch {
	case !c.OwnName(pages.HostOf(r.Host)):
		x.fail(petcat.Errorf(petcat.CodeForbidden, "call the console by localhost, by its IP address, or by the name in --console-url"))
	case c.origins.Check(r) != nil:
		x.fail(petcat.Errorf(petcat.CodeForbidden, "this request comes from a page of another origin; make the change in the console itself"))
	default:
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		c.mux.ServeHTTP(w, r)
	}
}

// serve lets a handler answer.
func (c *Console) serve(w http.ResponseWriter, r *http.Request, h handle) {
	x := &exchange{Console: c, w: w, r: r}
	if err := r.ParseForm(); err != nil {
		x.fail(petcat.Errorf(petcat.CodeInvalidField, "the form cannot be read: it is too long, or not encoded as a browser does").WithCause(err))
		return
	}
	x.notice = notices[r.Form.Get("done")]
	if err := h(x); err != nil {
		x.fail(err)
	}
}

// value returns a value of the form or of the query, without blanks around it.
func (x *exchange) value(name string) string { return strings.TrimSpace(x.r.Form.Get(name)) }

// number returns a number of the form, 0 for none.
func (x *exchange) number(name, called string) (int64, error) {
	text := strings.ReplaceAll(x.value(name), ",", "")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, petcat.Errorf(petcat.CodeInvalidField, "%s must be a number (got %.50q)", called, text).In(name)
	}
	return n, nil
}

// date returns a day of the form, from its beginning in UTC; the zero time for none.
func (x *exchange) date(name, called string) (time.Time, error) {
	day, err := pages.Date(x.value(name), called)
	return day, at(name, err)
}

// actor returns the operator who makes the change, for the audit log.
func (x *exchange) actor() petcat.Actor { return x.session.Operator.Actor() }

// goTo redirects the browser to a page, which says what was done. It returns nil.
func (x *exchange) goTo(path, done string) error {
	if done != "" {
		path += "?done=" + url.QueryEscape(done)
	}
	pages.Redirect(x.w, x.r, base+path)
	return nil
}

// done is goTo after a change, unless that failed.
func (x *exchange) done(err error, path, done string) error {
	if err != nil {
		return err
	}
	return x.goTo(path, done)
}

// notices are what pages say about a change that was made.
var notices = map[string]string{ //nolint:gochecknoglobals // a table that nobody changes
	"account": "The account was created.", "plan": "The plan was changed. It applies within a second.",
	"closed": "The account was closed, and its keys were revoked.", "disabled": "The key was disabled.",
	"enabled": "The key was enabled.", "revoked": "The key was revoked.", "lifted": "The ban was lifted.",
	"category": "The category was created.", "updated": "The category was changed.", "deleted": "The category was deleted.",
	"approved": "The request was approved. The plan applies within a second.", "declined": "The request was declined.", "removed": "The operator was removed.",
	"repeated": "This was done already, once. The secret of a key or a link is shown once.",
	"ended":    "Your session has ended, and nothing was changed. Sign in with a new link.",
}

// on returns a handler that is called with what the path names.
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
	return func(x *exchange) error { return x.again(at(field, change(x)), page) }
}

// at returns err, which is about a field of the form unless it names another one.
func at(field string, err error) error {
	if public := petcat.Public(err); err != nil && public.Field == "" && public.Code == petcat.CodeInvalidField {
		return public.In(field)
	}
	return err
}

// once returns a handler that makes a change once for each form that a page showed. Whoever
// sends the form again, as by a double click, sees what the change made.
func once(change handle) handle {
	return func(x *exchange) error {
		ctx, err := petcat.WithOnce(x.r.Context(), x.actor(), x.value("once"), x.r.URL.Path+" "+x.r.Form.Encode())
		if err != nil {
			return err
		}
		x.r = x.r.WithContext(ctx)
		err = change(x)
		if repeated, ok := errors.AsType[*petcat.RepeatedError](err); ok {
			return x.goTo(pathOf(repeated.Subject), "repeated")
		}
		return err
	}
}

// pathOf returns the path of the page about the subject of an audit entry, "" without one.
func pathOf(subject string) string {
	if _, isID := petcat.ParseAccountRef(subject); isID {
		return "accounts/" + subject
	}
	if _, err := petcat.ParseKeyID(subject); err == nil {
		return "keys/" + subject
	}
	if number, found := strings.CutPrefix(subject, "category_"); found {
		return "categories/" + number
	}
	if kind, _, _ := strings.Cut(subject, " "); kind == "operator" || kind == "token" {
		return "operators"
	}
	return ""
}

// again shows a form again with the error, if the input breaks a rule. It returns any other
// error.
func (x *exchange) again(err error, page handle) error {
	switch petcat.CodeOf(err) {
	case petcat.CodeInvalidField, petcat.CodeMissingField, petcat.CodeCategoryInUse, petcat.CodePreconditionFailed:
		x.problem, x.wrong = pages.Sentence(petcat.Public(err).Message), petcat.Public(err).Field
		return page(x)
	default:
		return err
	}
}

// fail answers with an error.
func (x *exchange) fail(err error) {
	public := petcat.Public(err)
	status, message := httpapi.StatusOf(public.Code), public.Message
	if status == http.StatusInternalServerError {
		message = "something went wrong on our side; the log of this node says what" // there is no X-Request-Id here
		x.Logger.ErrorContext(x.r.Context(), "a page of the console failed", "method", x.r.Method, "path", x.r.URL.Path, "error", err)
	}
	x.problem, x.wrong = "", ""
	x.respond(status, "error", view{Title: http.StatusText(status), Data: pages.Sentence(message)})
}

// notFoundPage returns the error for an address without a page.
func notFoundPage(*exchange) error {
	return petcat.Errorf(petcat.CodeNotFound, "there is nothing at this address")
}
