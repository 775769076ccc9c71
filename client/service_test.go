//go:build go1.26

package petcat_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	petcat "github.com/petcat-api/petcat/client"
)

// validKey is the key of all accounts. No real key has this form.
const validKey = "pck_test_key-of-the-tests"

// window counts one window of the account.
type window struct {
	name        string
	seconds     int64
	quota, used int64
	index       int64
}

// service is a fake of the service in memory: one account with its limits, and a list of
// categories. Tests against the real service are in e2e/.
type service struct {
	latency time.Duration // of each response; set before the first request

	mu         sync.Mutex
	minute     window // guarded by mu, as is all below
	day        window
	bannedTill time.Time
	categories []petcat.Category
	lastID     int64
	replays    map[string]replay // by idempotency key
	requests   []seen
}

// replay is a create with an idempotency key, and its response.
type replay struct{ body, response string }

// seen is a request that the service received.
type seen struct {
	at           time.Time
	method, path string
	header       http.Header
	body         string
	status       int
}

func newService(perMinute, perDay int64) *service {
	return &service{
		minute:  window{name: "minute", seconds: 60, quota: perMinute},
		day:     window{name: "day", seconds: 24 * 60 * 60, quota: perDay},
		replays: map[string]replay{},
	}
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	request := seen{at: time.Now(), method: r.Method, path: r.URL.RequestURI(), header: r.Header, body: string(body)}
	s.requests = append(s.requests, request)
	n := len(s.requests) - 1
	a := s.respond(r, body)
	s.requests[n].status = a.status
	s.mu.Unlock()
	time.Sleep(s.latency)
	for name, value := range a.header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.body)
}

// reply is a response before it is written.
type reply struct {
	status int
	header map[string]string
	body   string
}

// respond handles a request. The caller holds mu.
func (s *service) respond(r *http.Request, body []byte) reply {
	now := time.Now()
	if r.Header.Get("Authorization") != "Bearer "+validKey {
		a := failure(http.StatusUnauthorized, petcat.CodeInvalidAPIKey, "the API key is not valid")
		a.tell(now, 600, 599, now.Unix()+60)
		return a
	}
	s.minute.rollOver(now)
	s.day.rollOver(now)
	if rejection, rejected := s.admit(now); rejected {
		return s.limits(rejection, now)
	}
	return s.limits(s.operation(r, body), now)
}

func (w *window) rollOver(now time.Time) {
	if i := now.Unix() / w.seconds; i != w.index {
		w.index, w.used = i, 0
	}
}

func (w *window) reset() int64 { return (w.index + 1) * w.seconds }

// admit charges both windows, or returns a 429.
func (s *service) admit(now time.Time) (reply, bool) {
	reject := func(code petcat.Code, until int64) (reply, bool) {
		a := failure(http.StatusTooManyRequests, code, "not now")
		a.header["Retry-After"] = strconv.FormatInt(secondsUntil(now, until), 10)
		return a, true
	}
	switch {
	case now.Before(s.bannedTill):
		return reject(petcat.CodeKeyBanned, max(s.bannedTill.Unix(), s.minute.reset()))
	case s.day.used >= s.day.quota:
		return reject(petcat.CodeDailyQuotaExceeded, s.day.reset())
	case s.minute.used >= s.minute.quota:
		return reject(petcat.CodeRateLimitExceeded, s.minute.reset())
	}
	s.minute.used++
	s.day.used++
	return reply{}, false
}

// limits adds the headers of every response.
func (s *service) limits(a reply, at time.Time) reply {
	effective := &s.minute
	today, now := s.day.quota-s.day.used, s.minute.quota-s.minute.used
	if today == 0 || now > 0 && today <= now {
		effective = &s.day
	}
	remaining, reset := effective.quota-effective.used, effective.reset()
	if a.status == http.StatusTooManyRequests {
		remaining = 0
		reset = max(reset, s.bannedTill.Unix())
	}
	a.tell(at, effective.quota, remaining, reset)
	return a
}

func (a *reply) tell(now time.Time, limit, remaining, reset int64) {
	a.header["X-RateLimit-Limit"] = strconv.FormatInt(limit, 10)
	a.header["X-RateLimit-Remaining"] = strconv.FormatInt(remaining, 10)
	a.header["X-RateLimit-Reset"] = strconv.FormatInt(reset, 10)
	a.header["X-Request-Id"] = "TESTS001-1"
	a.header["Date"] = now.UTC().Format(http.TimeFormat)
}

// secondsUntil rounds up, as the service does.
func secondsUntil(now time.Time, unix int64) int64 {
	return max(1, int64((time.Unix(unix, 0).Sub(now)+time.Second-1)/time.Second))
}

// operation handles an allowed request.
func (s *service) operation(r *http.Request, body []byte) reply {
	switch r.Method + r.URL.Path {
	case "GET/v1/categories":
		return s.list(r)
	case "GET/v1/categories/changes":
		return s.changes(r)
	case "POST/v1/categories":
		return s.create(r, body)
	}
	return failure(http.StatusNotFound, petcat.CodeNotFound, "there is no such resource")
}

func (s *service) list(r *http.Request) reply {
	a := success(http.StatusOK, nil)
	limit, _ := strconv.Atoi(r.FormValue("limit"))
	after, _ := strconv.ParseInt(r.FormValue("after"), 10, 64)
	page := []petcat.Category{}
	for _, c := range s.categories {
		if c.ID <= after {
			continue
		}
		if limit > 0 && len(page) == limit {
			a.header["Link"] = fmt.Sprintf(`</v1/categories?limit=%d&after=%d>; rel="next"`, limit, page[limit-1].ID)
			break
		}
		page = append(page, c)
	}
	a.body = encode(page)
	return a
}

// changes lists the creates, which are the only changes.
func (s *service) changes(r *http.Request) reply {
	a := success(http.StatusOK, nil)
	n, _ := strconv.Atoi(r.FormValue("after"))
	page := []petcat.ChangedCategory{}
	for _, c := range s.categories[n:] {
		page = append(page, petcat.ChangedCategory{ID: c.ID, Category: &c})
	}
	a.header["Link"] = fmt.Sprintf(`</v1/categories/changes?after=%d>; rel="next"`, len(s.categories))
	a.body = encode(page)
	return a
}

func (s *service) create(r *http.Request, body []byte) reply {
	key := r.Header.Get("Idempotency-Key")
	if before, known := s.replays[key]; known {
		if before.body != string(body) {
			const message = "use a new key for a new request"
			return failure(http.StatusUnprocessableEntity, petcat.CodeIdempotencyKeyReused, message)
		}
		a := success(http.StatusCreated, nil)
		a.header["Idempotent-Replayed"], a.body = "true", before.response
		return a
	}
	var c petcat.Category
	if err := json.Unmarshal(body, &c); err != nil || c.Name == "" {
		return failure(http.StatusBadRequest, petcat.CodeMissingField, "name is required")
	}
	s.lastID++
	c.ID = s.lastID
	s.categories = append(s.categories, c)
	a := success(http.StatusCreated, c)
	s.replays[key] = replay{body: string(body), response: a.body}
	return a
}

func success(status int, value any) reply {
	return reply{status: status, header: map[string]string{"Content-Type": "application/json"}, body: encode(value)}
}

func failure(status int, code petcat.Code, message string) reply {
	return success(status, map[string]any{"code": code, "message": message, "status": status})
}

func encode(value any) string {
	if value == nil {
		return ""
	}
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// use uses up requests, like another client of the account.
func (s *service) use(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range []*window{&s.minute, &s.day} {
		w.rollOver(time.Now())
		w.used = min(w.used+n, w.quota)
	}
}

// ban bans the key.
func (s *service) ban(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bannedTill = time.Now().Add(d)
}

// log returns all requests.
func (s *service) log() []seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// rejected counts the requests that got 429.
func rejected(requests []seen) (n int) {
	for _, r := range requests {
		if r.status == http.StatusTooManyRequests {
			n++
		}
	}
	return n
}

// names returns the names of all categories, by id.
func (s *service) names() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.categories {
		names = append(names, c.Name)
	}
	return names
}

// RoundTrip responds without a network, so that time can be virtual.
func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	responses := make(chan *http.Response, 1)
	go func() {
		recorder := httptest.NewRecorder()
		s.ServeHTTP(recorder, r)
		res := recorder.Result()
		res.Request = r
		responses <- res
	}()
	select {
	case res := <-responses:
		return res, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// faults is a transport that responds to its first requests itself. Other requests go to the service.
type faults struct {
	service *service
	first   []func(*http.Request) (*http.Response, error)
	sent    []seen
}

func (f *faults) RoundTrip(r *http.Request) (*http.Response, error) {
	n := len(f.sent)
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	f.sent = append(f.sent, seen{at: time.Now(), method: r.Method, path: r.URL.RequestURI(), body: string(body)})
	if n < len(f.first) {
		return f.first[n](r)
	}
	return f.service.RoundTrip(r)
}

// says responds with a status, a code and headers.
func says(status int, code petcat.Code, header ...string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		if code != "" {
			_, _ = io.WriteString(w, encode(map[string]any{"code": code, "message": "not now", "status": status}))
		}
		res := w.Result()
		res.Request = r
		return res, nil
	}
}

// transport is a function that sends requests.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// dial returns a client with a transport.
func dial(t *testing.T, to http.RoundTripper, options ...petcat.Option) *petcat.Client {
	t.Helper()
	options = append([]petcat.Option{petcat.WithHTTPClient(&http.Client{Transport: to})}, options...)
	c, err := petcat.New("http://petcat.test", validKey, options...)
	must(t, err)
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantCode returns the service's error in an error, which must have a code.
func wantCode(t *testing.T, err error, code petcat.Code) petcat.Error {
	t.Helper()
	e, ok := errors.AsType[*petcat.Error](err)
	if !ok || !errors.Is(err, code) {
		t.Fatalf("the error is %v, want %s", err, code)
	}
	return *e
}
