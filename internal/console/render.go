package console

import (
	"embed"
	"net/http"
	"net/url"
	"slices"
	"time"

	"petcat"
	"petcat/internal/pages"
)

//go:embed pages
var embedded embed.FS

// view is what a page shows.
type view struct {
	Title   string // of the page
	Section string // of the navigation
	Data    any

	// The rest is filled in for every page.
	Operator        petcat.OperatorName // "" if nobody is signed in
	Admin           bool
	Environment     petcat.Environment
	Version         string
	Form            url.Values
	Notice, Problem string
	Wrong           string // the field that the problem is about, "" for none
	Once            string // names the change of the form; see once
	Now             time.Time
	Away            []Part // what is unavailable, if the session is trusted in spite of that
}

// render answers with a page.
func (x *exchange) render(page string, v view) error { return x.renderAs(http.StatusOK, page, v) }

// renderAs is render with a status, which a problem makes 400 if it is 200.
func (x *exchange) renderAs(status int, page string, v view) error {
	if status == http.StatusOK && x.problem != "" {
		status = http.StatusBadRequest
	}
	x.respond(status, page, v)
	return nil
}

// respond writes a page, all of it or none.
func (x *exchange) respond(status int, page string, v view) {
	v.Operator, v.Admin = x.session.Operator, x.session.Role.Changes()
	v.Environment, v.Version, v.Form, v.Now = x.Environment, x.Version, x.r.Form, x.now()
	if x.away {
		v.Away = slices.DeleteFunc(slices.Clone(x.Parts()), func(p Part) bool { return p.Problem == "" })
	}
	v.Notice, v.Problem, v.Wrong = x.notice, x.problem, x.wrong
	if token, err := petcat.GenerateToken(x.Random); err == nil {
		v.Once = token.Secret.Reveal()
	}
	if err := pages.Write(x.w, status, x.pages[page], v); err != nil {
		x.Logger.ErrorContext(x.r.Context(), "a page of the console cannot be rendered", "page", page, "error", err)
	}
}
