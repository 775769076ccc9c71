package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	rules "github.com/petcat-api/petcat"
)

// response is an HTTP response with its body read.
type response struct {
	*http.Response
	body []byte
}

// change changes a request before it is sent.
type change func(*http.Request)

func header(name, value string) change { return func(r *http.Request) { r.Header.Add(name, value) } }

func by(secret string) change { return header("Authorization", "Bearer "+secret) }

// try sends a request that may fail, because the server may be down.
func try(client *http.Client, method, url string, body io.Reader, changes ...change) (*response, error) {
	r, err := http.NewRequest(method, url, body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, change := range changes {
		change(r)
	}
	res, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	return &response{res, data}, err
}

// send is try with a body of text.
func send(client *http.Client, method, url, body string, changes ...change) (*response, error) {
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	return try(client, method, url, reader, changes...)
}

// do sends a request to the API.
func (n *node) do(method, path, body string, changes ...change) *response {
	n.t.Helper()
	a, err := send(n.client, method, n.api+path, body, changes...)
	must(n.t, err)
	return a
}

func (n *node) list(secret string, changes ...change) *response {
	n.t.Helper()
	return n.do(http.MethodGet, "/v1/categories", "", append(changes, by(secret))...)
}

func (n *node) create(secret, name string, changes ...change) *response {
	n.t.Helper()
	return n.do(http.MethodPost, "/v1/categories", fmt.Sprintf(`{"name":%q}`, name), append(changes, by(secret))...)
}

// ask sends a request to the admin listener.
func (n *node) ask(path string) *response {
	n.t.Helper()
	a, err := n.tryAdmin(path)
	must(n.t, err)
	return a
}

func (n *node) tryAdmin(path string) (*response, error) {
	client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	return try(client, http.MethodGet, n.admin+path, nil)
}

// ready reports whether the node is ready.
func (n *node) ready() bool {
	a, err := n.tryAdmin("/readyz")
	return err == nil && a.StatusCode == http.StatusOK
}

// metric returns a value of /metrics. series is the name with labels.
func (n *node) metric(series string) float64 {
	n.t.Helper()
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(series) + ` (\S+)$`).FindSubmatch(n.ask("/metrics").body)
	if found == nil {
		n.t.Fatalf("the metric %s is missing", series)
	}
	v, err := strconv.ParseFloat(string(found[1]), 64)
	must(n.t, err)
	return v
}

// local returns the number of requests that the node counted in memory.
func (n *node) local() int {
	n.t.Helper()
	return int(n.metric("petcat_limiter_local_total"))
}

// newKey creates an account and a key, and waits until the node accepts it.
func (n *node) newKey(account string, plan ...string) key {
	n.t.Helper()
	k := newKey(n.t, n.place, account, plan...)
	n.knows(k)
	return k
}

// knows waits until the node accepts a key.
func (n *node) knows(k key) {
	n.t.Helper()
	eventually(n.t, "the node accepts the key", func() bool { return n.usage(k.Key).StatusCode == http.StatusOK })
}

// usage requests the usage, which does not count.
func (n *node) usage(secret string) *response {
	n.t.Helper()
	return n.do(http.MethodGet, "/v1/usage", "", by(secret))
}

// window is the usage of a window, and its end in Unix seconds.
type window struct{ Limit, Used, Reset int64 }

// windows returns the minute and the day of a key's account.
func (n *node) windows(secret string) (minute, day window) {
	n.t.Helper()
	var usage struct{ Windows []window }
	n.usage(secret).decode(n.t, &usage)
	if len(usage.Windows) != 2 {
		n.t.Fatalf("windows: %+v", usage.Windows)
	}
	return usage.Windows[0], usage.Windows[1]
}

// category is a category in a response.
type category struct {
	ID          int64
	Name        string
	Description string
}

// categories returns the list.
func (n *node) categories(secret string) (all []category) {
	n.t.Helper()
	n.list(secret).want(n.t, http.StatusOK).decode(n.t, &all)
	return all
}

// fresh returns a list without Age. It retries until an outage is over.
func (n *node) fresh(secret string) (all []category) {
	n.t.Helper()
	eventually(n.t, "the list is fresh", func() bool {
		a := n.list(secret)
		if a.StatusCode != http.StatusOK || a.Header.Get("Age") != "" {
			return false
		}
		a.decode(n.t, &all)
		return true
	})
	return all
}

// want checks the status.
func (a *response) want(t testing.TB, status int) *response {
	t.Helper()
	if a.StatusCode != status {
		r := a.Request
		t.Fatalf("%s %s: status %d, want %d; body %.300s", r.Method, r.URL, a.StatusCode, status, a.body)
	}
	return a
}

// wantError checks an error.
func (a *response) wantError(t testing.TB, status int, code rules.Code) *response {
	t.Helper()
	if a.want(t, status); a.code() != code {
		t.Fatalf("%s %s: code %q, want %q; body %s", a.Request.Method, a.Request.URL, a.code(), code, a.body)
	}
	return a
}

// code returns the code of an error, "" for anything else.
func (a *response) code() rules.Code {
	var e struct{ Code rules.Code }
	_ = json.Unmarshal(a.body, &e)
	return e.Code
}

func (a *response) decode(t testing.TB, document any) {
	t.Helper()
	if err := json.Unmarshal(a.body, document); err != nil {
		t.Fatalf("%s %s: %v: %.300s", a.Request.Method, a.Request.URL, err, a.body)
	}
}

// number parses a header as a whole number.
func (a *response) number(t testing.TB, name string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(a.Header.Get(name), 10, 64)
	must(t, err)
	return n
}

// spent counts the responses of an account in each window. quota is the quota that is used up first, so
// that the headers identify the window.
type spent struct {
	quota int
	code  rules.Code // of rejected requests

	mu                sync.Mutex
	allowed, rejected map[int64]int // by the end of the window; guarded by mu
	unknown           int           // requests without a response, which may count; guarded by mu
}

func newSpent(quota int, code rules.Code) *spent {
	return &spent{quota: quota, code: code, allowed: map[int64]int{}, rejected: map[int64]int{}}
}

// add counts a response, and reports whether the request was allowed.
func (s *spent) add(t testing.TB, a *response) bool {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case a.StatusCode == http.StatusOK:
		s.allowed[s.windowOf(t, a)]++
		return true
	case a.code() == s.code:
		s.rejected[s.windowOf(t, a)]++
	default:
		t.Errorf("got %d %s", a.StatusCode, a.body)
	}
	return false
}

// windowOf returns the end of the window in which a request was decided. The headers describe the time
// of the response, so after a decision at the end of a window, on a busy machine, they may show the next
// window without any request, or, for a rejected request, the next second.
func (s *spent) windowOf(t testing.TB, a *response) int64 {
	t.Helper()
	window := rules.Minute.Seconds()
	if s.code == rules.CodeDailyQuotaExceeded {
		window = rules.Day.Seconds()
	}
	reset := a.number(t, "X-RateLimit-Reset")
	if a.number(t, "X-RateLimit-Remaining") == a.number(t, "X-RateLimit-Limit") {
		reset -= window
	}
	return reset - reset%window
}

// wantExact checks that no window allowed more than the quota, and that a window with rejected
// requests allowed all of it. Each of the local requests, which a node counted in memory because the
// database was silent for a second, may exceed the quota by one.
func (s *spent) wantExact(t testing.TB, local int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for reset, allowed := range s.allowed {
		if allowed > s.quota+local || s.rejected[reset] > 0 && allowed+s.unknown < s.quota {
			t.Errorf("window until %d: %d allowed, %d rejected, quota %d, %d without a response",
				reset, allowed, s.rejected[reset], s.quota, s.unknown)
		}
	}
	for reset, rejected := range s.rejected {
		if s.allowed[reset]+s.unknown == 0 {
			t.Errorf("window until %d: %d rejected, none allowed", reset, rejected)
		}
	}
}

// atOnce calls do from count goroutines, each with its number, and waits for all.
func atOnce(count int, do func(i int)) {
	var all sync.WaitGroup
	for i := range count {
		all.Go(func() { do(i) })
	}
	all.Wait()
}
