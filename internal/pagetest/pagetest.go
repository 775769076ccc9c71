// Package pagetest helps test the console and the portal: it serves them on a real store with a
// manual clock, and has a browser for them.
package pagetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/catalog"
	"github.com/petcat-api/petcat/internal/clientnet"
	"github.com/petcat-api/petcat/internal/clocktest"
	"github.com/petcat-api/petcat/internal/datadir"
	"github.com/petcat-api/petcat/internal/pages"
	"github.com/petcat-api/petcat/internal/ratelimit"
	"github.com/petcat-api/petcat/internal/sqlite"
	"github.com/petcat-api/petcat/internal/store"
)

// Noon is the time at which the tests start.
var Noon = time.Date(2027, 3, 14, 12, 0, 18, 0, time.UTC) //nolint:gochecknoglobals // a constant

// StrangersPerMinute is the limit of cookies without a session per address.
const StrangersPerMinute = 5

// CLI is the actor of all changes that prepare a test.
const CLI petcat.Actor = "cli:test"

// Service is a site on a real store.
type Service struct {
	T       *testing.T
	Clock   *clocktest.Manual
	Store   *store.Store
	List    *catalog.Catalog
	Limiter *ratelimit.Limiter
	Log     *Log

	url string // of the root page
}

// Log collects the service's log. It is safe for concurrent use.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Open opens a store. Serve then serves a site.
func Open(t *testing.T) *Service {
	t.Helper()
	s := &Service{T: t, Clock: clocktest.NewManual(Noon), Log: new(Log)}
	dir, err := datadir.Open(t.TempDir(), true)
	Must(t, err)
	db, err := sqlite.Open(t.Context(), sqlite.Options{
		Dir: dir, Environment: petcat.Production, Clock: s.Clock, Serving: true,
	})
	Must(t, err)
	t.Cleanup(func() { Must(t, db.Close()) })
	s.Store = store.New(db, s.Clock)
	s.List = catalog.New(s.Store.Dataset())
	db.OnCategoriesCommitted(s.List.Apply)
	Must(t, s.List.Load(t.Context(), s.Store))
	s.Limiter = ratelimit.New(ratelimit.Options{
		Clock: s.Clock, BanMode: petcat.EnforceBans, SaveBan: s.Store.SaveBan, Banned: func(petcat.Ban) {},
		DayUsed: func(context.Context, petcat.AccountID, int64) (int64, error) { return 0, nil },
	})
	t.Cleanup(s.Limiter.Close)
	return s
}

// Deployment identifies the data of the tests.
const Deployment = "d1"

// Options returns the options of a site.
func (s *Service) Options() pages.Options {
	lookups := ratelimit.NewLookups(64)
	return pages.Options{
		Sessions:    s.Store,
		Keys:        s.Store,
		Environment: petcat.Production,
		Deployment:  Deployment,
		Clock:       s.Clock,
		Logger:      slog.New(slog.NewTextHandler(s.Log, nil)),
		Links:       ratelimit.NewDoor[clientnet.Net](s.Clock, pages.FailuresPerMinute, lookups),
		Cookies:     ratelimit.NewDoor[clientnet.Net](s.Clock, StrangersPerMinute, lookups),
	}
}

// Serve serves a site whose root page is at a path.
func (s *Service) Serve(site http.Handler, path string) {
	server := httptest.NewServer(site)
	s.T.Cleanup(server.Close)
	s.url = server.URL + path
}

// Must fails the test if err is not nil.
func Must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Account creates an account on the Free plan.
func (s *Service) Account(name string) petcat.Account {
	s.T.Helper()
	free, err := petcat.ParseSubscription("free", petcat.Quota{}, petcat.Storage{})
	Must(s.T, err)
	a, err := s.Store.CreateAccount(s.T.Context(), petcat.By(CLI), petcat.NewAccount{
		Name:         petcat.AccountName(name),
		Subscription: free,
	})
	Must(s.T, err)
	return a.Value
}

// Key creates a key with the label "made before".
func (s *Service) Key(a petcat.AccountID) petcat.Key {
	s.T.Helper()
	generator := petcat.KeyGenerator{Environment: petcat.Production, Random: rand.Reader}
	n, _, err := generator.NewKey(a, petcat.KeyTerms{Label: "made before"})
	Must(s.T, err)
	k, err := s.Store.CreateKey(s.T.Context(), petcat.By(CLI), n)
	Must(s.T, err)
	return k.Value
}

// Link creates a link for a subject, and returns its token.
func (s *Service) Link(of petcat.Subject) string {
	s.T.Helper()
	token, err := petcat.GenerateToken(rand.Reader)
	Must(s.T, err)
	_, err = s.Store.CreateLink(s.T.Context(), petcat.By(CLI), of, token.Hash)
	Must(s.T, err)
	return token.Secret.Reveal()
}

// LastAudit returns the newest audit entry.
func (s *Service) LastAudit() (last petcat.AuditEntry) {
	s.T.Helper()
	Must(s.T, s.Store.EachAuditEntry(s.T.Context(), petcat.AuditQuery{Newest: 1}, func(e petcat.AuditEntry) error {
		last = e
		return nil
	}))
	return last
}

// WantAudited checks the newest audit entry.
func (s *Service) WantAudited(actor petcat.Actor, action, subject string) {
	s.T.Helper()
	e := s.LastAudit()
	got, want := []string{string(e.Actor), e.Action, e.Subject}, []string{string(actor), action, subject}
	if !slices.Equal(got, want) {
		s.T.Errorf("the last audit entry is %q, want %q", got, want)
	}
}

// Browser is a browser without JavaScript. It does not follow redirects.
type Browser struct {
	*Service

	client *http.Client
}

// Browser returns a new browser without cookies.
func (s *Service) Browser() *Browser {
	s.T.Helper()
	jar, err := cookiejar.New(nil)
	Must(s.T, err)
	transport := &http.Transport{}
	s.T.Cleanup(transport.CloseIdleConnections)
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Browser{s, &http.Client{Transport: transport, Jar: jar, CheckRedirect: stay}}
}

// SignIn returns a browser with a session of a subject.
func (s *Service) SignIn(of petcat.Subject) *Browser {
	s.T.Helper()
	b := s.Browser()
	b.Post("sign-in", "token", s.Link(of), "sure", "yes").WantGoesTo("")
	return b
}

// Do sends a request. path is below the root page, unless it begins with a slash. headers alternates names
// and values.
func (b *Browser) Do(method, path, body string, headers ...string) *Page {
	b.T.Helper()
	r, err := http.NewRequestWithContext(b.T.Context(), method, b.url, strings.NewReader(body))
	Must(b.T, err)
	if strings.HasPrefix(path, "/") {
		r.URL, err = r.URL.Parse(path)
	} else {
		r.URL, err = r.URL.Parse(r.URL.Path + path)
	}
	Must(b.T, err)
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	response, err := b.client.Do(r)
	Must(b.T, err)
	text, err := io.ReadAll(response.Body)
	Must(b.T, errors.Join(err, response.Body.Close()))
	return &Page{response, html.UnescapeString(string(text)), b}
}

// Get requests a path below the root page.
func (b *Browser) Get(path string) *Page { b.T.Helper(); return b.Do(http.MethodGet, path, "") }

// Post sends a form. values alternates names and values.
func (b *Browser) Post(path string, values ...string) *Page {
	b.T.Helper()
	return b.Do(http.MethodPost, path, Form(values...))
}

// Form encodes alternating names and values.
func Form(values ...string) string {
	all := url.Values{}
	for i := 0; i < len(values); i += 2 {
		all.Set(values[i], values[i+1])
	}
	return all.Encode()
}

// Page is a response.
type Page struct {
	*http.Response

	Text string // with HTML entities decoded
	b    *Browser
}

// richStatus matches a live region (which screen readers announce) that contains more than text.
var richStatus = regexp.MustCompile(`role="status"[^>]*>[^<]*<[^/]`)

// squeezed returns HTML without most white space, as pages may be indented in any way.
func squeezed(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return strings.NewReplacer("> ", ">", " <", "<", " >", ">").Replace(text)
}

// Want checks the status, that the page contains all texts, whatever the white space around its tags is,
// and that its live regions contain only text.
func (p *Page) Want(status int, texts ...string) *Page {
	t := p.b.T
	t.Helper()
	if p.StatusCode != status {
		t.Errorf("%s %s: %d, want %d\n%s", p.Request.Method, p.Request.URL.Path, p.StatusCode, status, p.Main())
	}
	if found := richStatus.FindString(p.Text); found != "" {
		t.Errorf("%s %s has more than text in %s", p.Request.Method, p.Request.URL.Path, found)
	}
	shown := squeezed(p.Text)
	for _, text := range texts {
		if !strings.Contains(shown, squeezed(text)) {
			t.Errorf("%s %s does not contain %q\n%s", p.Request.Method, p.Request.URL.Path, text, p.Main())
		}
	}
	return p
}

// Main returns the page's main element.
func (p *Page) Main() string {
	_, main, _ := strings.Cut(p.Text, "<main")
	return main
}

// Lacks fails the test if the page contains one of the texts.
func (p *Page) Lacks(texts ...string) {
	p.b.T.Helper()
	shown := squeezed(p.Text)
	for _, text := range texts {
		if strings.Contains(shown, squeezed(text)) {
			p.b.T.Errorf("%s %s contains %q", p.Request.Method, p.Request.URL.Path, text)
		}
	}
}

// WantGoesTo checks that the response redirects to a path below the root page.
func (p *Page) WantGoesTo(path string) {
	p.b.T.Helper()
	p.Want(http.StatusSeeOther)
	to, err := p.Location()
	Must(p.b.T, err)
	if got, want := to.String(), p.b.url+path; got != want {
		p.b.T.Errorf("%s %s redirects to %s, want %s", p.Request.Method, p.Request.URL.Path, got, want)
	}
}

// WantCookie checks the page's only cookie, apart from its value, which it returns.
func (p *Page) WantCookie(want http.Cookie) (value string) {
	p.b.T.Helper()
	cookies := p.Cookies()
	if len(cookies) != 1 {
		p.b.T.Fatalf("%d cookies, want 1", len(cookies))
	}
	got := *cookies[0]
	value = got.Value
	got.Value, got.Raw = "", ""
	if diff := cmp.Diff(want, got); diff != "" {
		p.b.T.Errorf("the cookie (-want +got):\n%s", diff)
	}
	return value
}

// Secret returns the secret key that the page shows.
func (p *Page) Secret() string {
	p.b.T.Helper()
	found := regexp.MustCompile(`<code id="secret">(pck_live_\w+)</code>`).FindStringSubmatch(p.Text)
	if found == nil {
		p.b.T.Fatalf("no key in\n%s", p.Text)
	}
	return found[1]
}
