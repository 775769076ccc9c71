package pages

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/web"
)

// Handler responds to a request, or returns an error.
type Handler func(x *Exchange) error

// Page is what users with a session see at a path. Others are sent to the sign-in page.
type Page struct {
	Method string // GET if empty
	Path   string // below the site's, unless it begins with a slash
	Admin  bool   // only for users who may make changes
	Show   Handler
}

// Form is a change that users with a session make by sending a form. If the session has ended, the
// response is a page that keeps the form, and can send it again.
type Form struct {
	Path   string // below the site's
	Change Handler
	// Page shows the form again if its input breaks a rule. If it is nil, an error page is shown.
	Page Handler
	// Field is the field that shows an error that names none, "" for the top of the page.
	Field string
	// Fields are all fields of the form but once.
	Fields []string
}

// addPage registers a page.
func (s *Site) addPage(p Page) {
	s.handle(cmp.Or(p.Method, http.MethodGet), p.Path, func(x *Exchange) error {
		err := x.findSession()
		if petcat.CodeOf(err) == petcat.CodeNotFound {
			return x.goToSignIn()
		}
		if err != nil {
			return err
		}
		if err := s.Limit(x.Session); err != nil {
			return err
		}
		if p.Admin {
			if err := s.MayChange(x.Session); err != nil {
				return err
			}
		}
		if err := x.readForm(s.MaxForm); err != nil {
			return err
		}
		return p.Show(x)
	})
}

// addForm registers a form.
func (s *Site) addForm(f Form) {
	s.handle(http.MethodPost, f.Path, func(x *Exchange) error {
		err := x.findSession()
		if petcat.CodeOf(err) == petcat.CodeNotFound {
			return x.keepForm(f.Fields)
		}
		if err != nil {
			return err
		}
		if err := s.Limit(x.Session); err != nil {
			return err
		}
		if err := s.MayChange(x.Session); err != nil {
			return err
		}
		if err := x.readForm(s.MaxForm); err != nil {
			return err
		}
		err = f.Change(x)
		if err != nil && f.Page != nil {
			return x.Again(err, f.Field, f.Page)
		}
		return err
	})
}

// handle registers a handler for a method and a path, which is below the site's unless it begins
// with a slash. The form is not read yet, because an unknown client may have sent it: see
// [Exchange.readForm].
func (s *Site) handle(method, path string, h Handler) {
	page := path
	if !strings.HasPrefix(path, "/") {
		path = s.Path + path
	}
	s.mux.HandleFunc(method+" "+path, func(w http.ResponseWriter, r *http.Request) {
		x := &Exchange{W: w, R: r, site: s}
		defer x.releaseForm()
		query := r.URL.Query()
		if err := cmp.Or(web.CheckText(r.URL.Path), web.CheckValues(query)); err != nil {
			r.URL.RawQuery = ""
			x.fail(err)
			return
		}
		done := query.Get("done")
		x.notice = cmp.Or(s.Notices[page+" "+done], notices[page+" "+done], notices[done])
		if err := h(x); err != nil {
			x.fail(err)
		}
	})
}

// nowhere responds to requests for an address without a page.
func nowhere(*Exchange) error { return NotFound() }
