package portal

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
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"petcat"
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

// service is the portal on a real store, with a clock that the test sets.
type service struct {
	t       *testing.T
	clock   *clocktest.Manual
	store   *sqlite.Store
	limiter *ratelimit.Limiter
	url     string
	log     *lockedBuffer
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

// start starts a portal; change may replace parts of the options.
func start(t *testing.T, change ...func(*Options)) *service {
	t.Helper()
	s := &service{t: t, clock: clocktest.NewManual(noon), log: new(lockedBuffer)}
	dir, err := datadir.Open(t.TempDir(), true)
	must(t, err)
	s.store, err = sqlite.Open(t.Context(), sqlite.Options{
		Dir: dir, Environment: petcat.Production, Clock: s.clock, Serving: true, CategoriesCommitted: func([]petcat.RevisedCategory) {},
	})
	must(t, err)
	t.Cleanup(func() { must(t, s.store.Close()) })
	s.limiter = ratelimit.New(ratelimit.Options{
		Clock: s.clock, Bans: petcat.EnforceBans, SaveBan: s.store.SaveBan, Banned: func(petcat.Ban) {},
		DayUsed: func(context.Context, petcat.AccountID, int64) (int64, error) { return 0, nil },
	})
	t.Cleanup(s.limiter.Close)
	o := Options{
		Store: s.store, Limiter: s.limiter, Environment: petcat.Production, Deployment: "d1",
		Failures:  ratelimit.NewBucket[clientnet.Net](s.clock, FailuresPerMinute),
		Strangers: ratelimit.NewBucket[clientnet.Net](s.clock, 5),
		Requests:  ratelimit.NewBucket[petcat.AccountID](s.clock, RequestsPerMinute),
		Clock:     s.clock, Logger: slog.New(slog.NewTextHandler(s.log, nil)), Random: rand.Reader,
	}
	for _, c := range change {
		c(&o)
	}
	server := httptest.NewServer(New(o))
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

// account creates an account on the Free plan.
func (s *service) account(name string) petcat.Account {
	s.t.Helper()
	free, err := petcat.ParseSubscription("free", 0, 0)
	must(s.t, err)
	a, err := s.store.CreateAccount(s.t.Context(), cli, petcat.AccountName(name), free)
	must(s.t, err)
	return a
}

// key creates a key as the operator does.
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

// find returns a key as it is now.
func (s *service) find(id petcat.KeyID) petcat.Key {
	s.t.Helper()
	k, err := s.store.FindKey(s.t.Context(), id)
	must(s.t, err)
	return k
}

// link makes a link for an account, and returns its token.
func (s *service) link(a petcat.AccountID) string {
	s.t.Helper()
	token, err := petcat.GenerateToken(rand.Reader)
	must(s.t, err)
	_, err = s.store.LinkCustomer(s.t.Context(), cli, a, token.Hash)
	must(s.t, err)
	return token.Secret.Reveal()
}

// browser is somebody at the pages.
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

// signIn returns a browser in which the customer of an account is signed in.
func (s *service) signIn(a petcat.AccountID) *browser {
	s.t.Helper()
	b := s.browser()
	b.post("sign-in", "token", s.link(a)).wantGoesTo("")
	return b
}

// page is an answer.
type page struct {
	*http.Response

	t    *testing.T
	text string // with its entities resolved
}

// do sends a request; headers are names and values.
func (b *browser) do(method, path, body string, headers ...string) *page {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.url+Path+"/"+path, strings.NewReader(body))
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
	all := url.Values{}
	for i := 0; i < len(values); i += 2 {
		all.Set(values[i], values[i+1])
	}
	return b.do(http.MethodPost, path, all.Encode())
}

// want checks the status, and that all texts are in the page.
func (p *page) want(status int, texts ...string) *page {
	p.t.Helper()
	_, main, _ := strings.Cut(p.text, "<main")
	if p.StatusCode != status {
		p.t.Errorf("%s %s: %d, want %d\n%s", p.Request.Method, p.Request.URL.Path, p.StatusCode, status, main)
	}
	for _, text := range texts {
		if !strings.Contains(p.text, text) {
			p.t.Errorf("%s %s does not show %q\n%s", p.Request.Method, p.Request.URL.Path, text, main)
		}
	}
	return p
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
	if got, want := p.Header.Get("Location"), strings.TrimSuffix(Path+"/"+path, "/"); got != want {
		p.t.Errorf("%s %s leads to %s, want %s", p.Request.Method, p.Request.URL.Path, got, want)
	}
}

// wantAudited checks the newest audit entry.
func (s *service) wantAudited(actor petcat.Actor, action, subject string) {
	s.t.Helper()
	must(s.t, s.store.EachAuditEntry(s.t.Context(), petcat.AuditQuery{Newest: 1}, func(e petcat.AuditEntry) error {
		if e.Actor != actor || e.Action != action || e.Subject != subject {
			s.t.Errorf("the last audit entry is %s %s %s, want %s %s %s", e.Actor, e.Action, e.Subject, actor, action, subject)
		}
		return nil
	}))
}
