package pages

import (
	"bytes"
	"cmp"
	"encoding/json"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/web"
)

// Exchange is a request and its response.
type Exchange struct {
	W       http.ResponseWriter
	R       *http.Request
	Session petcat.Session // zero unless signed in

	site      *Site
	token     petcat.TokenHash // of the session
	formTaken int64            // bytes of memory that the form takes
	// notice and problem are messages at the top of the page, "" for none. If wrong is not "",
	// the problem is shown at this field of the form instead.
	notice, problem, wrong string
}

// View is the data of a page.
type View struct {
	Title   string // of the page
	Section string // of the navigation
	Data    any

	// Render fills in the rest.
	Session         petcat.Session
	Form            url.Values
	Notice, Problem string
	Wrong           string // the field with the problem, "" for none
	Now             time.Time
	Content         template.HTML // of the page, for its frame
}

// Render sends a page. It returns nil.
func (x *Exchange) Render(page string, v View) error {
	return x.renderAs(http.StatusOK, page, v)
}

// renderAs is Render with a status, which a problem makes 400 if it is 200.
func (x *Exchange) renderAs(status int, page string, v View) error {
	if status == http.StatusOK && x.problem != "" {
		status = http.StatusBadRequest
	}
	v.Session = x.Session
	v.Form = x.R.Form
	v.Now = x.site.now()
	v.Notice = x.notice
	v.Problem = x.problem
	v.Wrong = x.wrong
	text, err := x.site.page(page, v)
	if err != nil {
		x.site.Logger.ErrorContext(x.R.Context(), "page not rendered", "page", page, "error", err)
		web.WriteError(x.W, petcat.Errorf(petcat.CodeInternalError, "the page cannot be shown"))
		return nil
	}
	x.write(status, "text/html; charset=utf-8", text)
	return nil
}

// page returns a page in its frame.
func (s *Site) page(page string, v View) ([]byte, error) {
	var content, framed bytes.Buffer
	if err := s.templates.ExecuteTemplate(&content, page+".html", v); err != nil {
		return nil, err
	}
	v.Content = template.HTML(content.String()) //nolint:gosec // a template's output
	if err := s.templates.ExecuteTemplate(&framed, "frame", v); err != nil {
		return nil, err
	}
	return framed.Bytes(), nil
}

func (x *Exchange) write(status int, contentType string, body []byte) {
	x.W.Header().Set("Content-Type", contentType)
	x.W.Header().Set("Cache-Control", "no-store")
	x.W.WriteHeader(status)
	_, _ = x.W.Write(body) // fails only if the client disconnected
}

// WriteJSON responds to a script of a page.
func (x *Exchange) WriteJSON(v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		x.write(http.StatusOK, "application/json", text)
	}
	return err
}

// fail sends an error.
func (x *Exchange) fail(err error) {
	public := petcat.Public(err)
	status, message := web.StatusOf(public.Code), public.Message
	if web.IsGone(x.R, err) && status >= http.StatusInternalServerError {
		x.W.WriteHeader(web.StatusGone)
		return
	}
	if public.Code == petcat.CodeIdempotencyKeyReused {
		status, message = http.StatusConflict, "this form was sent already, with other values; open its page again"
	}
	if status == http.StatusInternalServerError {
		if x.R.Context().Err() == nil { // else the client disconnected
			x.site.Logger.ErrorContext(x.R.Context(), "page failed",
				"route", web.Route(x.R),
				"error", err)
		}
		message = "something went wrong on our side; see the server's log"
		if id := x.W.Header().Get("X-Request-Id"); id != "" {
			message = "something went wrong on our side; " +
				"if it happens again, report the X-Request-Id " + id
		}
	}
	if status == http.StatusServiceUnavailable {
		public = public.After(max(public.RetryAfter, time.Second))
	}
	web.SetRetryAfter(x.W.Header(), public)
	web.SetCode(x.W, public.Code)
	x.problem, x.wrong = "", ""
	_ = x.renderAs(status, "error", View{
		Title: http.StatusText(status),
		Data:  Sentence(message),
	})
}

// NotFound returns the error for an address without a page.
func NotFound() error {
	return petcat.Errorf(petcat.CodeNotFound, "there is nothing at this address")
}

// Value returns a value of the form or the query, without blanks around it.
func (x *Exchange) Value(name string) string {
	return strings.TrimSpace(x.R.Form.Get(name))
}

// Date parses a field of the form as the start of a day in UTC, or as the zero time if it is empty.
// called is the field's name in the error.
func (x *Exchange) Date(name, called string) (time.Time, error) {
	text := x.Value(name)
	if text == "" {
		return time.Time{}, nil
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil || day.IsZero() { // the zero time means none
		return time.Time{}, petcat.Errorf(petcat.CodeInvalidField,
			"%s must look like 2027-01-31 (got %.50q)", called, text).In(name)
	}
	return day, nil
}

// Actor returns the signed-in user as the actor of a change.
func (x *Exchange) Actor() petcat.Actor { return x.Session.Subject().Actor() }

// GoTo redirects the browser to a page, which shows the notice done. It returns nil.
func (x *Exchange) GoTo(path, done string) error {
	to := x.site.Path + path
	if done != "" {
		to += "?done=" + url.QueryEscape(done)
	}
	x.W.Header().Set("Cache-Control", "no-store")
	// htmx would follow a redirect itself, and show the response in a part of the page.
	if x.R.Header.Get("HX-Request") != "" {
		x.W.Header().Set("HX-Redirect", to)
		x.W.WriteHeader(http.StatusNoContent)
		return nil
	}
	http.Redirect(x.W, x.R, to, http.StatusSeeOther)
	return nil
}

// Again shows a form again if err is about its input. The error is shown at the field that it names, or
// else at field, or for "" at the top of the page. Again returns any other error.
func (x *Exchange) Again(err error, field string, page Handler) error {
	switch petcat.CodeOf(err) {
	case petcat.CodeInvalidField,
		petcat.CodeMissingField,
		petcat.CodeCategoryInUse,
		petcat.CodeConflict,
		petcat.CodeStorageLimitReached,
		petcat.CodePreconditionFailed:
		public := petcat.Public(err)
		x.problem = Sentence(public.Message)
		x.wrong = cmp.Or(public.Field, field)
		return page(x)
	default:
		return err
	}
}

// Author returns who makes the change of a form. The field once makes the change once, however often
// the form is sent: each form of a page has its own value. Author returns an [petcat.Error] with
// [petcat.CodeInvalidBody] for a value from outside the pages.
func (x *Exchange) Author() (petcat.Author, error) {
	if !x.R.Form.Has("once") {
		return petcat.By(x.Actor()), nil
	}
	request := x.R.URL.Path + " " + x.R.Form.Encode()
	by, err := petcat.ParseAuthor(x.Actor(), x.R.Form.Get("once"), request)
	if err != nil {
		return petcat.Author{}, petcat.Errorf(petcat.CodeInvalidBody,
			"the field once of the form is invalid; open the page again, and send the form from there").WithCause(err)
	}
	return by, nil
}

// Made is GoTo after a change, or after a form that was sent again.
func (x *Exchange) Made(path string, replayed bool, done string) error {
	if replayed {
		done = "repeated"
	}
	return x.GoTo(path, done)
}

// Size is the number of rows on a page of a long list.
const Size = 50

// Cut returns the rows of a page, and its last row if there are more. rows has up to [Size]+1.
func Cut[T any](rows []T) (page []T, next *T) {
	if len(rows) <= Size {
		return rows, nil
	}
	return rows[:Size], &rows[Size-1]
}

// Confirmation is the question before a change that cannot be undone.
type Confirmation struct {
	Question    string
	Consequence string
	Action      string // the path of the form
	Button      string
	Back        string   // the path of the page to return to
	Typed       string   // the text that the user must type, "" for none
	Key         *KeyView // that the change is about, nil for none
}

// Confirm sends a page with a question.
func (x *Exchange) Confirm(section string, c Confirmation) error {
	return x.Render("confirm", View{
		Title:   c.Button,
		Section: section,
		Data:    c,
	})
}
