// Package pages is the common part of the console and the customer's page: sign-in, sessions, the
// checks of each request, the layout, and the pages of keys.
package pages

import (
	"embed"
	"html/template"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clientnet"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/ratelimit"
	"github.com/petcat-api/petcat/internal/web"
)

// Options are common to both sites.
type Options struct {
	Sessions    Sessions
	Keys        Keys
	Environment petcat.Environment
	// Deployment identifies the data. A hash of it is part of the cookie's name: cookies do not
	// distinguish ports, so two deployments on one host would otherwise end each other's sessions.
	Deployment string
	// Secure is true if browsers reach the site over TLS. Without TLS, it must be on loopback.
	Secure bool
	// Links checks the tokens of sign-in links, Cookies the tokens of sessions.
	Links, Cookies *ratelimit.Door[clientnet.Net]
	// TrustedProxies are the proxies whose X-Forwarded-For is trusted. Optional.
	TrustedProxies *clientnet.Proxies
	Clock          clock.Clock
	Logger         *slog.Logger
}

// FailuresPerMinute is the limit of failed sign-ins per address and node.
const FailuresPerMinute = 10

// Site is the console or the customer's page. Use [New].
type Site struct {
	Options

	Realm      petcat.Realm
	Cookie     string // its name, without the deployment
	CookieLife time.Duration
	Path       string // below which the pages are, with a leading and a trailing slash
	MaxForm    int64  // maximum size of a form in bytes
	// Templates has html/site.html with the parts of the frame, and the pages as html/*.html.
	Templates fs.FS
	Functions template.FuncMap  // of the templates, in addition to those of all sites
	Notices   map[string]string // that a page shows after a change, by its Path, a space, and their name
	// CheckHost returns an error for requests to a host that is not the site's. The host is in lower
	// case, without a port.
	CheckHost func(host string) error
	// Limit returns an error for requests of a session that sends too many.
	Limit func(petcat.Session) error
	// MayChange returns an error for users who may not make changes.
	MayChange func(petcat.Session) error

	Pages []Page
	Forms []Form

	cookieName string
	forms      *web.Memory[petcat.Subject] // of large forms

	mux       *http.ServeMux
	templates *template.Template
	origins   *http.CrossOriginProtection
}

//go:embed assets html shared
var embedded embed.FS

// New returns a site with its pages and forms, and with those for signing in and out.
func New(s Site) *Site {
	s.mux, s.origins = http.NewServeMux(), http.NewCrossOriginProtection()
	s.cookieName = CookieName(s.Cookie, s.Deployment, s.Secure)
	s.forms = web.NewMemory[petcat.Subject](formMemory)
	s.load()
	s.serveFiles()
	s.handle(http.MethodGet, "sign-in", signInPage)
	s.handle(http.MethodPost, "sign-in", signIn)
	s.handle(http.MethodPost, "sign-out", signOut)
	s.addPage(Page{Path: "", Show: nowhere})
	for _, p := range s.Pages {
		s.addPage(p)
	}
	for _, f := range s.Forms {
		s.addForm(f)
	}
	return &s
}

// serveFiles serves the scripts and styles. They are public, because the binary contains them.
func (s *Site) serveFiles() {
	for _, pattern := range []string{
		"assets/*.js",
		"assets/*.css",
		"assets/*.txt",
		"shared/*.js",
		"shared/*.css",
		"shared/*.svg",
	} {
		for name, file := range web.Files(embedded, pattern) {
			s.mux.Handle("GET "+s.Path+"files/"+path.Base(name), file)
		}
	}
}

// now returns the wall clock's time in UTC.
func (s *Site) now() time.Time { return s.Clock.Read().Time() }

// load parses the pages, and the frame and the parts that all pages share.
func (s *Site) load() {
	s.templates = template.New("").Funcs(functions(s.Path)).Funcs(s.Functions)
	s.templates.Funcs(template.FuncMap{
		"environment": func() petcat.Environment { return s.Environment },
	})
	template.Must(s.templates.ParseFS(embedded, "shared/*.html", "html/*.html"))
	template.Must(s.templates.ParseFS(s.Templates, "html/*.html"))
}

// notices are the notices of both sites.
var notices = map[string]string{ //nolint:gochecknoglobals // a constant
	"keys/{key} revoked": "The key was revoked.",
	"repeated":           "This was already done. Secrets are shown only the first time.",
	"sign-in expired":    "Your session has expired. Sign in with a new link.",
}

// ServeHTTP implements [http.Handler].
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	err := s.CheckHost(HostOf(r.Host))
	switch {
	case err != nil:
	case s.origins.Check(r) != nil:
		err = petcat.Errorf(petcat.CodeForbidden,
			"this request comes from a page of another origin; make the change on this site's own page")
	case len(r.URL.RawQuery) > maxQuery:
		err = petcat.Errorf(petcat.CodeInvalidField,
			"the address is too long; open the page from the start")
	}
	if err != nil {
		(&Exchange{W: w, R: r, site: s}).fail(err)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// secure sets the headers that every page has: only our own files and forms are allowed.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", strings.Join([]string{
		"default-src 'none'",
		"script-src 'self'",
		"style-src 'self'",
		"img-src 'self'",
		"connect-src 'self'",
		"form-action 'self'",
		"base-uri 'none'",
		"frame-ancestors 'none'",
	}, "; "))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	// Other origins do not get a referrer. The stricter no-referrer would also remove the Origin from
	// our own forms, which could then not be distinguished from other sites' forms.
	h.Set("Referrer-Policy", "same-origin")
}

// HostOf returns the host of an address that may have a port, in lower case.
func HostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.Trim(address, "[]")
	}
	return strings.ToLower(host)
}
