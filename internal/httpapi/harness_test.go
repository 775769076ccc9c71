package httpapi_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/apicheck"
	"github.com/petcat-api/petcat/internal/catalog"
	"github.com/petcat-api/petcat/internal/clientnet"
	"github.com/petcat-api/petcat/internal/clocktest"
	"github.com/petcat-api/petcat/internal/datadir"
	"github.com/petcat-api/petcat/internal/httpapi"
	"github.com/petcat-api/petcat/internal/keyring"
	"github.com/petcat-api/petcat/internal/ratelimit"
	"github.com/petcat-api/petcat/internal/sqlite"
	"github.com/petcat-api/petcat/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is when the tests start: 18 s into a minute, far from midnight.
var noon = time.Date(2026, 3, 14, 12, 0, 18, 0, time.UTC)

// service is the API with real components, except for the clock.
type service struct {
	t       testing.TB
	clock   *clocktest.Manual
	store   *store.Store
	catalog *catalog.Catalog
	keyring *keyring.Keyring
	limiter *ratelimit.Limiter
	options httpapi.Options
	handler http.Handler
	url     string
	client  *http.Client
	log     *bytes.Buffer

	mu      sync.Mutex
	records []httpapi.Record // guarded by mu
}

// noUsage reports that quotas were unused before a test.
func noUsage(context.Context, petcat.AccountID, int64) (int64, error) { return 0, nil }

// start starts a service. change can modify the options.
func start(t testing.TB, change ...func(*httpapi.Options)) *service {
	t.Helper()
	s := &service{t: t, clock: clocktest.NewManual(noon), log: new(bytes.Buffer)}
	dir, err := datadir.Open(t.TempDir(), true)
	must(t, err)
	db, err := sqlite.Open(t.Context(), sqlite.Options{
		Dir: dir, Environment: petcat.Production, Clock: s.clock, Serving: true,
	})
	must(t, err)
	s.store = store.New(db, s.clock)
	s.catalog = catalog.New(s.store.Dataset())
	db.OnCategoriesCommitted(s.catalog.Apply)
	must(t, s.catalog.Load(t.Context(), s.store))
	s.limiter = ratelimit.New(ratelimit.Options{
		Clock:   s.clock,
		DayUsed: noUsage,
		BanMode: petcat.EnforceBans,
		SaveBan: func(context.Context, petcat.Ban) error { return nil },
		Banned: func(b petcat.Ban) {
			if err := s.store.SaveBan(context.WithoutCancel(t.Context()), b); err != nil {
				t.Errorf("save a ban: %v", err)
			}
		},
	})
	s.keyring, err = keyring.Load(t.Context(), keyring.Options{
		Environment: petcat.Production,
		Store:       s.store,
		Clock:       s.clock,
		Logger:      slog.New(slog.DiscardHandler),
		Ban:         s.limiter.ApplyBan,
	})
	must(t, err)
	s.store.OnAccessChange(s.keyring.Poll)
	o := httpapi.Options{
		Catalog: s.catalog,
		Store:   s.store,
		Keyring: s.keyring,
		Keys:    petcat.KeyGenerator{Environment: petcat.Production, Random: rand.Reader},
		Limiter: s.limiter,
		Door:    ratelimit.NewDoor[clientnet.Net](s.clock, 600, ratelimit.NewLookups(64)),
		Peeks:   ratelimit.NewBucket[petcat.AccountID](s.clock, httpapi.PeeksPerMinute, ratelimit.AllAccounts),
		Clock:   s.clock,
		Logger:  slog.New(slog.NewTextHandler(s.log, nil)),
		Observe: s.observe,
		Charged: func(petcat.AccountID, petcat.KeyID, petcat.OperationID, int64) {},
	}
	for _, f := range change {
		f(&o)
	}
	s.options = o
	s.handler = httpapi.New(o)
	server := httptest.NewServer(s.handler)
	transport := &http.Transport{DisableCompression: true}
	s.url = server.URL
	s.client = &http.Client{Transport: apicheck.New(t, transport, func() int64 { return s.clock.Read().Time().Unix() })}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
		s.limiter.Close()
		must(t, db.Close())
	})
	return s
}

func (s *service) observe(r *httpapi.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records = append(s.records, *r)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// account creates an account. Enterprise needs two numbers: per minute and per day.
func (s *service) account(name string, plan petcat.Plan, numbers ...int64) petcat.Account {
	s.t.Helper()
	numbers = append(numbers, 0, 0)
	quota := petcat.Quota{PerMinute: numbers[0], PerDay: numbers[1]}
	subscription, err := petcat.ParseSubscription(string(plan), quota, petcat.Storage{})
	must(s.t, err)
	account, err := s.store.CreateAccount(s.t.Context(), petcat.By("test"), petcat.NewAccount{
		Name:         petcat.AccountName(name),
		Subscription: subscription,
	})
	must(s.t, err)
	return account.Value
}

// key creates a key that never expires.
func (s *service) key(account petcat.Account) (secret string, id petcat.KeyID) {
	s.t.Helper()
	return s.keyOn(account, petcat.KeyTerms{})
}

func (s *service) keyOn(account petcat.Account, terms petcat.KeyTerms) (secret string, id petcat.KeyID) {
	s.t.Helper()
	generator := petcat.KeyGenerator{Environment: petcat.Production, Random: rand.Reader}
	fresh, generated, err := generator.NewKey(account.ID, terms)
	must(s.t, err)
	key, err := s.store.CreateKey(s.t.Context(), petcat.By("test"), fresh)
	must(s.t, err)
	return generated.Reveal(), key.Value.ID
}

// hear applies the changes in the store, as a node does in the background.
func (s *service) hear() {
	s.t.Helper()
	s.keyring.Poll(s.t.Context())
}

// advance advances the clock.
func (s *service) advance(d time.Duration) {
	s.t.Helper()
	s.clock.Advance(d)
	s.hear()
}

// request changes a request before it is sent.
type request func(*http.Request)

func withKey(key string) request { return withHeader("Authorization", "Bearer "+key) }

func withHeader(name, value string) request {
	return func(r *http.Request) { r.Header.Add(name, value) }
}

// response is an HTTP response with its body read.
type response struct {
	*http.Response
	body []byte
}

func (s *service) do(method, path string, body io.Reader, changes ...request) *response {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, body)
	must(s.t, err)
	for _, change := range changes {
		change(r)
	}
	res, err := s.client.Do(r)
	must(s.t, err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	must(s.t, err)
	return &response{Response: res, body: data}
}

// serve calls the handler without a network. It does not check the response.
func (s *service) serve(t testing.TB, method, path, key string, body io.Reader, size int64) *response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, body)
	r.ContentLength = size
	r.Header.Set("Authorization", "Bearer "+key)
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return &response{Response: w.Result(), body: w.Body.Bytes()}
}

func (s *service) post(path, body string, changes ...request) *response {
	s.t.Helper()
	return s.do(http.MethodPost, path, strings.NewReader(body), changes...)
}

func (s *service) list(changes ...request) *response {
	s.t.Helper()
	return s.do(http.MethodGet, "/v1/categories", nil, changes...)
}

func (s *service) create(body string, changes ...request) *response {
	s.t.Helper()
	all := append([]request{withHeader("Content-Type", "application/json")}, changes...)
	return s.do(http.MethodPost, "/v1/categories", strings.NewReader(body), all...)
}

// wantStatus checks only the status.
func wantStatus(t testing.TB, a *response, status int) {
	t.Helper()
	if a.StatusCode != status {
		t.Fatalf("status %d, want %d; body %.300s", a.StatusCode, status, a.body)
	}
}

// wantError checks the status and the code.
func wantError(t testing.TB, a *response, status int, code petcat.Code) {
	t.Helper()
	wantStatus(t, a, status)
	if got := a.code(t); got != code {
		t.Fatalf("code %q, want %q; body %s", got, code, a.body)
	}
}

// wantMessage checks that the message of an error contains a text.
func wantMessage(t testing.TB, a *response, part string) {
	t.Helper()
	var e struct{ Message string }
	must(t, json.Unmarshal(a.body, &e))
	if !strings.Contains(e.Message, part) {
		t.Errorf("message %q does not contain %q", e.Message, part)
	}
}

func (a *response) code(t testing.TB) petcat.Code {
	t.Helper()
	var e struct{ Code petcat.Code }
	must(t, json.Unmarshal(a.body, &e))
	return e.Code
}

// number parses a header as a whole number.
func (a *response) number(t testing.TB, name string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(a.Header.Get(name), 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// wantHeadline checks the contract's three headers.
func wantHeadline(t testing.TB, a *response, limit, remaining int64, reset time.Time) {
	t.Helper()
	got := [3]int64{
		a.number(t, "X-RateLimit-Limit"),
		a.number(t, "X-RateLimit-Remaining"),
		a.number(t, "X-RateLimit-Reset"),
	}
	if want := [3]int64{limit, remaining, reset.Unix()}; got != want {
		t.Fatalf("limit, remaining, reset: %v, want %v", got, want)
	}
}

func wantHeader(t testing.TB, a *response, name, want string) {
	t.Helper()
	if got := a.Header.Get(name); got != want {
		t.Errorf("%s: %q, want %q", name, got, want)
	}
}
