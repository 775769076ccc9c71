package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"petcat"
	"petcat/internal/stalltest"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually looks again and again until something holds. It is the one way in
// which these tests wait for another process.
func eventually(t testing.TB, timeout time.Duration, what string, holds func() bool) {
	t.Helper()
	if !within(timeout, holds) {
		t.Fatalf("waited %s in vain until %s", timeout, what)
	}
}

// within reports whether something comes to hold in time: five times as long under the race
// detector, see [stalltest.Race].
func within(timeout time.Duration, holds func() bool) bool {
	if stalltest.Race {
		timeout *= 5
	}
	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()
	for end := time.Now().Add(timeout); ; <-look.C {
		if holds() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// unseen looks until something holds, and returns when the last look began that did not find
// it, from now on: whoever looks later finds it, however long a look takes.
func unseen(t testing.TB, timeout time.Duration, what string, holds func() bool) (last time.Duration) {
	t.Helper()
	begin := time.Now()
	eventually(t, timeout, what, func() bool {
		began := time.Since(begin)
		if holds() {
			return true
		}
		last = began
		return false
	})
	return last
}

// answer is a response with its body read.
type answer struct {
	*http.Response
	body []byte
}

// request changes a request before it is sent.
type request func(*http.Request)

func withHeader(name, value string) request {
	return func(r *http.Request) { r.Header.Add(name, value) }
}

func withKey(key string) request { return withHeader("Authorization", "Bearer "+key) }

// try sends a request that may fail, because its server may be killed.
func (s *server) try(method, url string, body io.Reader, changes ...request) (*answer, error) {
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
	res, err := s.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return &answer{Response: res, body: data}, err
}

// do sends a request to the API.
func (s *server) do(method, path, body string, changes ...request) *answer {
	s.t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	a, err := s.try(method, s.api+path, reader, changes...)
	must(s.t, err)
	return a
}

func (s *server) list(key string, changes ...request) *answer {
	s.t.Helper()
	return s.do(http.MethodGet, "/v1/categories", "", append(changes, withKey(key))...)
}

func (s *server) create(key, name string, changes ...request) *answer {
	s.t.Helper()
	return s.do(http.MethodPost, "/v1/categories", categoryBody(name), append(changes, withKey(key))...)
}

func categoryBody(name string) string { return fmt.Sprintf(`{"name":%q}`, name) }

// mustCreate returns the id of a category that was created.
func (s *server) mustCreate(key, name string) int64 {
	s.t.Helper()
	a := s.create(key, name)
	wantStatus(s.t, a, http.StatusCreated)
	return a.category(s.t).ID
}

// category is what the API tells of one.
type category struct {
	ID   int64
	Name string
}

func (a *answer) category(t testing.TB) (c category) {
	t.Helper()
	must(t, json.Unmarshal(a.body, &c))
	return c
}

// categories returns what a list shows.
func (s *server) categories(key string) []category {
	s.t.Helper()
	a := s.list(key)
	wantStatus(s.t, a, http.StatusOK)
	return a.categories(s.t)
}

// categories returns the list in an answer.
func (a *answer) categories(t testing.TB) (all []category) {
	t.Helper()
	must(t, json.Unmarshal(a.body, &all))
	return all
}

// ask asks the admin listener, whose answers are not the API's.
func (s *server) ask(path string) (status int, body string) {
	s.t.Helper()
	status, body, err := ask(s.admin + path)
	must(s.t, err)
	return status, body
}

func ask(url string) (status int, body string, err error) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	res, err := client.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, string(text), err
}

// readiness is what /readyz tells.
type readiness struct {
	Status string
	Checks map[string]string
}

// metric returns the value of one series, such as name{label="value"}.
func (s *server) metric(series string) float64 {
	s.t.Helper()
	_, body := s.ask("/metrics")
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(series) + ` (\S+)$`).FindStringSubmatch(body)
	if found == nil {
		s.t.Fatalf("there is no metric %s", series)
	}
	v, err := strconv.ParseFloat(found[1], 64)
	must(s.t, err)
	return v
}

// decidedLocally returns how many requests the server has decided by itself because its
// shared counters, if it has any, were late or away: the day may count each of them twice.
func (s *server) decidedLocally() int {
	s.t.Helper()
	const series = "petcat_limiter_local_total"
	if _, metrics := s.ask("/metrics"); !strings.Contains(metrics, "\n"+series+" ") {
		return 0
	}
	return int(s.metric(series))
}

func wantStatus(t testing.TB, a *answer, status int) {
	t.Helper()
	if a.StatusCode != status {
		t.Fatalf("status %d, want %d; body %.300s", a.StatusCode, status, a.body)
	}
}

func wantError(t testing.TB, a *answer, status int, code petcat.Code) {
	t.Helper()
	wantStatus(t, a, status)
	if got := a.code(); got != code {
		t.Fatalf("code %q, want %q; body %s", got, code, a.body)
	}
}

// code returns the code of an error, "" for anything else.
func (a *answer) code() petcat.Code {
	var e struct{ Code petcat.Code }
	_ = json.Unmarshal(a.body, &e)
	return e.Code
}

// beyondShare reports whether a node refused the request because its share of the minute is
// spent, and not the whole minute.
func (a *answer) beyondShare() bool {
	return a.code() == petcat.CodeRateLimitExceeded && strings.Contains(string(a.body), "is kept for other nodes")
}

// number reads a header as a whole number.
func (a *answer) number(t testing.TB, name string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(a.Header.Get(name), 10, 64)
	must(t, err)
	return n
}

// dayLeft returns how many requests of the day are left.
func (a *answer) dayLeft(t testing.TB) int64 {
	t.Helper()
	found := regexp.MustCompile(`"day";r=(\d+)`).FindStringSubmatch(a.Header.Get("RateLimit"))
	if found == nil {
		t.Fatalf("RateLimit does not tell the day: %q", a.Header.Get("RateLimit"))
	}
	n, err := strconv.ParseInt(found[1], 10, 64)
	must(t, err)
	return n
}

// openAccount makes an account, and the deployment when there is none; plan is
// what follows --plan.
func openAccount(t testing.TB, data, name string, plan ...string) {
	t.Helper()
	petcatDoes(t, data, "init")
	petcatDoes(t, data, append([]string{"account", "create", name, "--plan"}, plan...)...)
}

// unlimited is a plan whose quotas no test reaches.
var unlimited = []string{"enterprise", "--per-minute", "1000000000", "--per-day", "1000000000"}

// issueKey makes a key for an account.
func issueKey(t testing.TB, data, account string) (id, secret string) {
	t.Helper()
	var k struct{ ID, Key string }
	must(t, json.Unmarshal([]byte(petcatDoes(t, data, "key", "create", account, "--json")), &k))
	return k.ID, k.Key
}

// newCaller makes an account without limits and returns a key for it.
func newCaller(t testing.TB, data string) (key string) {
	t.Helper()
	openAccount(t, data, "caller", unlimited...)
	_, key = issueKey(t, data, "caller")
	return key
}

// petcatDoes runs a management command on data, which has to succeed.
func petcatDoes(t testing.TB, data string, args ...string) (stdout string) {
	t.Helper()
	return mustRun(t, append(args, placeFlags(data)...)...)
}

// awaitRoomInDay waits, shortly before a UTC day ends, for the next one: the
// tests of the day's quota must not straddle its end.
func awaitRoomInDay(t testing.TB, room time.Duration) {
	t.Helper()
	day := petcat.Day
	eventually(t, room+time.Second, "a new day begins", func() bool {
		now := time.Now()
		return time.Unix(day.Reset(day.Index(now.Unix())), 0).Sub(now) > room
	})
}

// last returns the end of a long text.
func last(s string, n int) string { return s[max(0, len(s)-n):] }
