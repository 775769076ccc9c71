package console

import (
	"bytes"
	"context"
	"crypto/rand"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"petcat"
	"petcat/internal/catalog"
	"petcat/internal/clientnet"
	"petcat/internal/clocktest"
	"petcat/internal/datadir"
	"petcat/internal/ratelimit"
	"petcat/internal/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2027, 3, 14, 12, 0, 18, 0, time.UTC)

// cli is who prepares what the tests need.
const cli petcat.Actor = "cli:test"

// service is the console on a real store, with a clock that the test sets.
type service struct {
	t       *testing.T
	clock   *clocktest.Manual
	store   *sqlite.Store
	console *Console
	url     string
	log     *lockedBuffer
	limiter *ratelimit.Limiter
	history *History
	parts   []Part
}

// awayStore is a store that can be unavailable to sessions and lists of accounts.
type awayStore struct {
	Store

	away bool
}

func (s *awayStore) FindSession(ctx context.Context, session petcat.TokenHash) (petcat.Session, error) {
	if s.away {
		return petcat.Session{}, petcat.Errorf(petcat.CodeServiceUnavailable, "the database does not respond")
	}
	return s.Store.FindSession(ctx, session)
}

func (s *awayStore) AccountPage(ctx context.Context, q petcat.AccountQuery) ([]petcat.Account, error) {
	if s.away {
		return nil, petcat.Errorf(petcat.CodeServiceUnavailable, "the database does not respond")
	}
	return s.Store.AccountPage(ctx, q)
}

type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// start starts a console; change may replace parts of the options.
func start(t *testing.T, change ...func(*Options)) *service {
	t.Helper()
	s := &service{t: t, clock: clocktest.NewManual(noon), log: new(lockedBuffer), history: NewHistory(noon), parts: []Part{{Name: "store"}, {Name: "limiter"}}}
	dir, err := datadir.Open(t.TempDir(), true)
	must(t, err)
	var list *catalog.Catalog
	s.store, err = sqlite.Open(t.Context(), sqlite.Options{
		Dir: dir, Environment: petcat.Production, Clock: s.clock, Serving: true,
		CategoriesCommitted: func(c []petcat.RevisedCategory) { list.Apply(c) },
	})
	must(t, err)
	t.Cleanup(func() { must(t, s.store.Close()) })
	list = catalog.New(s.store.Dataset())
	must(t, list.Load(t.Context(), s.store))
	s.limiter = ratelimit.New(ratelimit.Options{
		Clock: s.clock, Bans: petcat.EnforceBans, SaveBan: func(context.Context, petcat.Ban) error { return nil }, Banned: func(petcat.Ban) {},
		DayUsed: func(context.Context, petcat.AccountID, int64) (int64, error) { return 0, nil },
	})
	o := Options{
		Store: s.store, List: list, Limiter: s.limiter, Environment: petcat.Production, Version: "1.2.3", Deployment: "d1",
		Parts: func() []Part { return s.parts },
		Node:  "N1",
		Nodes: func() []petcat.Node {
			return []petcat.Node{{ID: "N1", Label: "web", Version: "1.2.3", State: "ready", Since: noon}}
		},
		History: s.history,
		LastBackup: func(context.Context) (Backup, error) {
			return Backup{TakenAt: noon, Host: "box", File: "/backups/petcat-1", Size: 1_500_000, Seconds: 0.5}, nil
		},
		URL:      "https://console.example.com",
		Settings: []Setting{{"--bans", "PETCAT_BANS", "shadow", "flag --bans"}},
		OwnName:  func(host string) bool { return host == "127.0.0.1" || host == "console.example.com" },
		Failures: ratelimit.NewBucket[clientnet.Net](s.clock, FailuresPerMinute),
		Clock:    s.clock, Logger: slog.New(slog.NewTextHandler(s.log, nil)), Random: rand.Reader,
	}
	for _, c := range change {
		c(&o)
	}
	s.console = New(o)
	server := httptest.NewServer(s.console)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// link creates an operator, or gives one another link, and returns its token.
func (s *service) link(name string, role petcat.Role) string {
	s.t.Helper()
	token, err := petcat.GenerateToken(rand.Reader)
	must(s.t, err)
	if _, err = s.store.LinkOperator(s.t.Context(), cli, petcat.OperatorName(name), token.Hash); petcat.CodeOf(err) == petcat.CodeNotFound {
		_, err = s.store.CreateOperator(s.t.Context(), cli, petcat.OperatorName(name), role, token.Hash)
	}
	must(s.t, err)
	return token.Secret.Reveal()
}

// browser is somebody at the console.
type browser struct {
	*service

	client *http.Client
}

func (s *service) browser() *browser {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	must(s.t, err)
	transport := &http.Transport{}
	s.t.Cleanup(transport.CloseIdleConnections)
	return &browser{s, &http.Client{Transport: transport, Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// signIn returns a browser in which an operator is signed in.
func (s *service) signIn(name string, role petcat.Role) *browser {
	s.t.Helper()
	b := s.browser()
	b.post("sign-in", "token", s.link(name, role)).want(http.StatusSeeOther, "")
	return b
}

func (s *service) admin() *browser  { s.t.Helper(); return s.signIn("ada", petcat.RoleAdmin) }
func (s *service) viewer() *browser { s.t.Helper(); return s.signIn("bob", petcat.RoleViewer) }

// page is an answer.
type page struct {
	*http.Response

	t    *testing.T
	text string // with its entities resolved
}

// do sends a request; headers are names and values.
func (b *browser) do(method, path, body string, headers ...string) *page {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.url+base+path, strings.NewReader(body))
	must(b.t, err)
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
	answer, err := b.client.Do(r)
	must(b.t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	must(b.t, err)
	return &page{answer, b.t, html.UnescapeString(string(text))}
}

func (b *browser) get(path string) *page { b.t.Helper(); return b.do(http.MethodGet, path, "") }

// post sends a form of names and values.
func (b *browser) post(path string, values ...string) *page {
	b.t.Helper()
	return b.do(http.MethodPost, path, form(values...))
}

func form(values ...string) string {
	all := url.Values{}
	for i := 0; i < len(values); i += 2 {
		all.Set(values[i], values[i+1])
	}
	return all.Encode()
}

// richStatus matches a region whose changes are read out, if anything but text is in it.
var richStatus = regexp.MustCompile(`role="status"[^>]*>[^<]*<[^/]`)

// want checks the status, that all texts are in the page, and that no link is read out with a
// change.
func (p *page) want(status int, texts ...string) *page {
	p.t.Helper()
	if p.StatusCode != status {
		p.t.Errorf("%s %s: %d, want %d\n%s", p.Request.Method, p.Request.URL.Path, p.StatusCode, status, p.main())
	}
	if found := richStatus.FindString(p.text); found != "" {
		p.t.Errorf("%s %s has more than text in %s", p.Request.Method, p.Request.URL.Path, found)
	}
	for _, text := range texts {
		if !strings.Contains(p.text, text) {
			p.t.Errorf("%s %s does not show %q\n%s", p.Request.Method, p.Request.URL.Path, text, p.main())
		}
	}
	return p
}

// main returns what the page shows beside its frame.
func (p *page) main() string {
	_, main, _ := strings.Cut(p.text, "<main")
	return main
}

func (p *page) lacks(texts ...string) {
	p.t.Helper()
	for _, text := range texts {
		if strings.Contains(p.text, text) {
			p.t.Errorf("%s %s shows %q", p.Request.Method, p.Request.URL.Path, text)
		}
	}
}

// wantGoesTo checks that the browser is sent to a page.
func (p *page) wantGoesTo(path string) {
	p.t.Helper()
	p.want(http.StatusSeeOther)
	if got := p.Header.Get("Location"); got != base+path {
		p.t.Errorf("%s %s leads to %s, want %s", p.Request.Method, p.Request.URL.Path, got, base+path)
	}
}

// account creates an account on the Free plan.
func (s *service) account(name string) petcat.Account {
	s.t.Helper()
	free, err := petcat.ParseSubscription("free", 0, 0)
	must(s.t, err)
	a, err := s.store.CreateAccount(s.t.Context(), cli, petcat.AccountName(name), free)
	must(s.t, err)
	return a
}

// key creates a key.
func (s *service) key(a petcat.AccountID) petcat.Key {
	s.t.Helper()
	g, err := petcat.GenerateKey(petcat.Production, rand.Reader)
	must(s.t, err)
	n, err := petcat.ParseNewKey(a, petcat.KeyTerms{Label: "made before"}, s.clock.Read().Time(), g)
	must(s.t, err)
	k, err := s.store.CreateKey(s.t.Context(), cli, n)
	must(s.t, err)
	return k
}

// lastAudit returns the newest audit entry.
func (s *service) lastAudit() (last petcat.AuditEntry) {
	s.t.Helper()
	must(s.t, s.store.EachAuditEntry(s.t.Context(), petcat.AuditQuery{Newest: 1}, func(e petcat.AuditEntry) error {
		last = e
		return nil
	}))
	return last
}

// wantAudited checks the newest audit entry.
func (s *service) wantAudited(actor petcat.Actor, action, subject string) {
	s.t.Helper()
	if e := s.lastAudit(); e.Actor != actor || e.Action != action || e.Subject != subject {
		s.t.Errorf("the last audit entry is %s %s %s, want %s %s %s", e.Actor, e.Action, e.Subject, actor, action, subject)
	}
}
