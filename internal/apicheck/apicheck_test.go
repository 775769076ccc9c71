package apicheck_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/petcat-api/petcat/internal/apicheck"
)

// sent is the Unix second at which requests are sent, on the limiter's clock: 18 s into a
// minute. Their responses arrive a second later.
const (
	sent     = 1_773_489_618
	received = sent + 1
	reset    = sent + 42
)

// response is an HTTP response that a test can alter.
type response struct {
	status int
	header http.Header
	body   string
}

// right returns a correct response.
func right(status int) *response {
	a := &response{status: status, header: http.Header{}}
	for name, value := range map[string]string{
		"X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "59", "X-RateLimit-Reset": fmt.Sprint(reset),
		"RateLimit":        `"minute";r=59;t=42, "day";r=999;t=42042`,
		"RateLimit-Policy": `"minute";q=60;w=60, "day";q=1000;w=86400`,
		"X-Request-Id":     "0A1B2C3D-1", "Content-Type": "application/json",
	} {
		a.header.Set(name, value)
	}
	switch status {
	case 200:
		a.set("ETag", `"d-1"`)
		a.set("Cache-Control", "private, no-cache")
		a.set("Vary", "Authorization, Accept-Encoding")
		a.set("X-Stability", "stable")
		a.body = `[{"id":1,"name":"dog"},{"id":2,"name":"cat","description":""}]`
		return a
	case 201:
		a.set("Location", "/v1/categories/1")
		a.set("ETag", `"1-1"`)
		a.set("Cache-Control", "no-store")
		a.set("X-Stability", "stable")
		a.body = `{"id":1,"name":"dog"}`
		return a
	}
	a.set("Cache-Control", "no-store")
	code := map[int]string{
		400: "missing_field", 401: "missing_api_key", 404: "not_found", 405: "method_not_allowed",
		409: "idempotency_in_progress", 429: "rate_limit_exceeded", 500: "internal_error", 503: "service_unavailable",
	}[status]
	a.body = fmt.Sprintf(`{"code":%q,"message":"what to do","status":%d}`, code, status)
	switch status {
	case 400:
		a.set("X-Stability", "stable").set("X-Error-Field", "name")
	case 401:
		a.set("WWW-Authenticate", `Bearer realm="petcat"`)
	case 405:
		a.set("Allow", "GET, HEAD, POST")
	case 409, 503:
		a.set("Retry-After", "1")
	case 429:
		a.set("Retry-After", "42").set("X-RateLimit-Remaining", "0")
	}
	return a
}

// set sets a header to one value, or removes it.
func (a *response) set(name, value string) *response {
	a.header.Del(name)
	if value != "" {
		a.header.Set(name, value)
	}
	return a
}

func (a *response) add(name, value string) *response { a.header.Add(name, value); return a }

func (a *response) saying(body string) *response { a.body = body; return a }

func (a *response) response(r *http.Request) *http.Response {
	body := io.NopCloser(strings.NewReader(a.body))
	return &http.Response{StatusCode: a.status, Header: a.header, Body: body, Request: r}
}

func request(t testing.TB, method, path string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://service"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func problems(t testing.TB, method string, a *response) []string {
	t.Helper()
	return apicheck.Problems(a.response(request(t, method, "/v1/categories")), []byte(a.body), sent, received)
}

func TestCorrectResponsesPass(t *testing.T) {
	for _, status := range []int{200, 201, 400, 401, 404, 405, 409, 429, 500, 503} {
		if found := problems(t, "GET", right(status)); len(found) > 0 {
			t.Errorf("%d: %q", status, found)
		}
	}
	for name, a := range map[string]*response{
		"an address": right(401).
			set("RateLimit", `"address";r=600;t=42`).
			set("RateLimit-Policy", `"address";q=600;w=60`),
		"unknown usage of the day": right(503).
			set("RateLimit", `"minute";r=0;t=42`).
			set("X-RateLimit-Remaining", "0"),
		"nothing left": right(200).set("X-RateLimit-Remaining", "0"),
		"a listed origin": right(200).
			set("Access-Control-Allow-Origin", "https://a.example").
			set("Vary", "Authorization, Origin"),
		"all origins":                          right(200).set("Access-Control-Allow-Origin", "*"),
		"everything left":                      right(401).set("X-RateLimit-Remaining", "60"),
		"Retry-After beyond the reset":         right(429).set("Retry-After", "90"),
		"Retry-After from the time of receipt": right(429).set("Retry-After", "41"),
	} {
		if found := problems(t, "GET", a); len(found) > 0 {
			t.Errorf("%s: %q", name, found)
		}
	}
	if found := problems(t, "HEAD", right(404).saying("")); len(found) > 0 {
		t.Errorf("HEAD: %q", found)
	}
}

// Each response has one fault, which must be reported before the faults that follow from it.
func TestFaultsAreReported(t *testing.T) {
	const members = "not {code, message, status}"
	for _, c := range []struct {
		name     string
		response *response
		want     string
	}{
		{"missing limit", right(200).set("X-RateLimit-Limit", ""), "X-RateLimit-Limit occurs 0 times"},
		{"duplicate limit", right(200).add("X-RateLimit-Limit", "60"), "X-RateLimit-Limit occurs 2 times"},
		{"limit is not a number", right(200).set("X-RateLimit-Limit", "60;w=60"), "not a whole number"},
		{
			"limit is zero",
			right(401).set("X-RateLimit-Limit", "0").set("X-RateLimit-Remaining", "0"),
			"X-RateLimit-Limit is 0",
		},
		{"remaining above the limit", right(200).set("X-RateLimit-Remaining", "61"), "above the limit"},
		{"reset in the present", right(200).set("X-RateLimit-Reset", fmt.Sprint(sent)), "not after now"},
		{"no RateLimit", right(200).set("RateLimit", ""), `RateLimit is ""`},
		{"RateLimit of another draft", right(200).set("RateLimit", "limit=60, remaining=59, reset=42"), "RateLimit is"},
		{"no RateLimit-Policy", right(200).set("RateLimit-Policy", ""), "RateLimit-Policy is"},
		{
			"an address policy with an account's window",
			right(401).set("RateLimit", `"address";r=600;t=42`).set("RateLimit-Policy", `"minute";q=600;w=60`),
			"RateLimit-Policy is",
		},
		{
			"an address state with an account's policy",
			right(401).set("RateLimit", `"address";r=600;t=42`),
			"RateLimit and RateLimit-Policy",
		},
		{"no request id", right(200).set("X-Request-Id", ""), "no X-Request-Id"},

		{"429 with remaining requests", right(429).set("X-RateLimit-Remaining", "1"), "is 1 on a 429"},
		{"429 with a Retry-After before the reset", right(429).set("Retry-After", "40"), "earlier than the reset"},

		{"error as text", right(404).set("Content-Type", "text/plain; charset=utf-8"), "Content-Type"},
		{"error without code", right(404).saying(`{"message":"m","status":404}`), members},
		{"an extra member", right(404).saying(`{"code":"not_found","message":"m","status":404,"id":"x"}`), members},
		{"members in another case", right(404).saying(`{"Code":"not_found","Message":"m","Status":404}`), members},
		{"data after the error", right(404).saying(`{"code":"not_found","message":"m","status":404} x`), members},
		{"unknown code", right(404).saying(`{"code":"gone_fishing","message":"m","status":404}`), "not documented"},
		{"no message", right(404).saying(`{"code":"not_found","message":"","status":404}`), "or no message"},
		{"another status", right(404).saying(`{"code":"not_found","message":"m","status":400}`), "a wrong status"},

		{"401 without a challenge", right(401).set("WWW-Authenticate", ""), "no WWW-Authenticate"},
		{"405 without Allow", right(405).set("Allow", ""), "no Allow"},
		{"no Vary", right(200).set("Access-Control-Allow-Origin", "https://a.example"), "without Vary: Origin"},
		{
			"two origins",
			right(200).set("Access-Control-Allow-Origin", "*").add("Access-Control-Allow-Origin", "*"),
			"occurs 2 times",
		},
		{"credentials", right(200).set("Access-Control-Allow-Credentials", "true"), "no cookies"},
		{"a missing field without its name", right(400).set("X-Error-Field", ""), "X-Error-Field"},
		{"409 in progress without Retry-After", right(409).set("Retry-After", ""), "no Retry-After"},
		{"409 in use", right(409).saying(`{"code":"category_in_use","message":"m","status":409}`), "a Retry-After"},
		{"503 without Retry-After", right(503).set("Retry-After", ""), "no Retry-After"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if found := problems(t, "GET", c.response); len(found) == 0 || !strings.Contains(found[0], c.want) {
				t.Errorf("reported %q, want %q first", found, c.want)
			}
		})
	}
}

// watched records a test's failures.
type watched struct {
	testing.TB
	failures []string
}

func (w *watched) Helper() {}

func (w *watched) Errorf(format string, args ...any) {
	w.failures = append(w.failures, fmt.Sprintf(format, args...))
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// failures returns the failures that the transport reports for a response.
func failures(t *testing.T, method, path string, a *response) []string {
	t.Helper()
	w := &watched{TB: t}
	now := int64(sent)
	c := apicheck.New(w, roundTrip(func(r *http.Request) (*http.Response, error) {
		now = received
		return a.response(r), nil
	}), func() int64 { return now })
	res, err := c.RoundTrip(request(t, method, path))
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(res.Body); err != nil || string(body) != a.body {
		t.Errorf("the body is %q, %v", body, err)
	}
	return w.failures
}

func TestTransport(t *testing.T) {
	const list, other = "/v1/categories", "/v1/nothing/1"
	const next = `</v1/categories?limit=1&after=1>; rel="next"`
	for _, c := range []struct {
		name, method, path string
		response           *response
		want               string // "": success
	}{
		{"list", "GET", list, right(200), ""},
		{"HEAD", "HEAD", list, right(200).saying(""), ""},
		{"create", "POST", list, right(201), ""},
		{"no operation", "GET", other, right(404), ""},
		{"page", "GET", list, right(200).set("Link", next), ""},
		{
			"error with deprecation headers", "GET", list,
			right(400).set("Deprecation", "@1").set("Sunset", "x").set("Link", `</docs#deprecation>; rel="deprecation"`), "",
		},
		{
			"error with CORS headers", "GET", list,
			right(400).set("Vary", "Origin").set("Access-Control-Allow-Origin", "https://a.example"), "",
		},
		{"outside", "GET", "/openapi.json", right(200).set("X-RateLimit-Limit", "").saying("{}"), ""},
		{"encoded body", "GET", list, right(200).set("Content-Encoding", "gzip").saying("\x1f\x8b"), ""},

		{"missing common header", "GET", list, right(200).set("X-Request-Id", ""), "no X-Request-Id"},
		{"another error body", "GET", other, right(404).saying("404 page not found"), "not {code, message, status}"},
		{"missing limit outside /v1", "GET", "/nowhere", right(404).set("X-RateLimit-Limit", ""), "X-RateLimit-Limit"},
		{"list is an object", "GET", list, right(200).saying(`{"items":[]}`), "OpenAPI document"},
		{"missing name", "POST", list, right(201).saying(`{"id":1}`), "OpenAPI document"},
		{"undocumented status", "GET", list, &response{206, right(200).header, right(200).body}, "OpenAPI document"},
		{"header of another response", "GET", list, right(400).set("Link", next), `without the headers ["Link"]`},
		{
			"header of another response, encoded body", "GET", list,
			right(200).set("Content-Encoding", "gzip").set("Retry-After", "1"), `without the headers ["Retry-After"]`,
		},
		{"malformed header", "GET", list, right(200).set("ETag", "d-1"), "the header ETag"},
		{"missing header of an error", "GET", list, right(503).set("Cache-Control", ""), "the header Cache-Control"},
		{"create without Location", "POST", list, right(201).set("Location", ""), "OpenAPI document"},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := failures(t, c.method, c.path, c.response)
			switch {
			case c.want == "" && len(found) > 0:
				t.Errorf("found %q", found)
			case c.want != "" && !strings.Contains(strings.Join(found, "\n"), c.want):
				t.Errorf("found %q, want %q", found, c.want)
			}
		})
	}
}
