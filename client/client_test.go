//go:build go1.26

package petcat_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	petcat "github.com/petcat-api/petcat/client"
)

// TestNew: a bad URL or key returns an error with the remedy.
func TestNew(t *testing.T) {
	for _, c := range []struct{ name, url, key, environment, fails string }{
		{name: "from the environment", environment: validKey},
		{name: "no key", url: "https://petcat.test", fails: "set PETCAT_API_KEY"},
		{name: "key with a line break", url: "https://petcat.test", key: validKey + "\n", fails: "white space"},
		{name: "no scheme", url: "petcat.test/v1", key: validKey, fails: "must look like https"},
		{name: "key as the URL", url: validKey, key: "https://petcat.test", fails: "must look like https"},
		{name: "key in the URL", url: "https://" + validKey + "@a.test", key: validKey, fails: "must have no user"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newService(60, 1000)
			t.Setenv("PETCAT_URL", "https://petcat.test")
			t.Setenv("PETCAT_API_KEY", c.environment)
			api, err := petcat.New(c.url, c.key, petcat.WithHTTPClient(&http.Client{Transport: s}))
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) || strings.Contains(err.Error(), validKey) {
					t.Errorf("the error is %v, want %q", err, c.fails)
				}
				return
			}
			must(t, err)
			_, _, err = api.Categories.List(t.Context())
			must(t, err)
		})
	}
}

// TestNilHTTPClient: New rejects a nil http.Client.
func TestNilHTTPClient(t *testing.T) {
	_, err := petcat.New("http://petcat.test", validKey, petcat.WithHTTPClient(nil))
	if err == nil || !strings.Contains(err.Error(), "WithHTTPClient") {
		t.Errorf("the error is %v", err)
	}
}

// TestOptionsOfOneCall: New rejects the options that only make sense for one call.
func TestOptionsOfOneCall(t *testing.T) {
	for name, option := range map[string]petcat.Option{
		"Idempotency-Key": petcat.WithIdempotencyKey("job"),
		"If-Match":        petcat.WithIfMatch(`"e1"`),
		"If-None-Match":   petcat.WithHeader("if-none-match", `"e1"`),
	} {
		_, err := petcat.New("http://petcat.test", validKey, option)
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

// TestKeyIsShownNowhere: neither a printed Client nor an error contains the key.
func TestKeyIsShownNowhere(t *testing.T) {
	wrong := transport(func(r *http.Request) (*http.Response, error) {
		return nil, errors.New("no route to " + r.URL.Host)
	})
	c := dial(t, wrong, petcat.WithRetries(0))
	_, _, failed := c.Categories.List(t.Context())
	s := newService(60, 1000)
	_, _, rejected := dial(t, s).Categories.Get(t.Context(), 7)
	texts := map[string]string{
		"an error":          fmt.Sprintf("%v %+v %#v", failed, failed, failed),
		"an error response": fmt.Sprintf("%v %+v %#v", rejected, rejected, rejected),
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		texts[verb] = fmt.Sprintf(verb, c) + fmt.Sprintf(verb, *c.Categories)
	}
	encoded, _ := json.Marshal(c)
	texts["JSON"] = string(encoded)
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Error("failed", "client", c, "error", failed)
	slog.New(slog.NewJSONHandler(&log, nil)).Error("failed", "client", c, "error", rejected)
	texts["log"] = log.String()
	for what, text := range texts {
		if strings.Contains(text, validKey) || strings.Contains(text, fmt.Sprintf("%x", validKey)) {
			t.Errorf("%s shows the key: %s", what, text)
		}
	}
	lost, found := texts["an error"], texts["an error response"]
	if !strings.Contains(lost, "petcat: GET /v1/categories: ") || !strings.Contains(found, "404 not_found") {
		t.Errorf("the errors are %q", texts)
	}
}

// TestRedirect: redirects are not followed, so no other host gets the key.
func TestRedirect(t *testing.T) {
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	here := httptest.NewServer(http.RedirectHandler(other.URL+"/v1/categories", http.StatusFound))
	defer here.Close()
	follow := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return nil }}
	for name, option := range map[string]petcat.Option{
		"default":     petcat.WithRetries(1),
		"http.Client": petcat.WithHTTPClient(follow),
	} {
		c, err := petcat.New(here.URL, validKey, option)
		must(t, err)
		_, _, err = c.Categories.Create(t.Context(), petcat.NewCategory{Name: "dog"})
		e, ok := errors.AsType[*petcat.Error](err)
		if !ok || e.Status != http.StatusFound || !strings.Contains(e.Message, other.URL) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	if n := elsewhere.Load(); n != 0 {
		t.Errorf("%d requests went elsewhere", n)
	}
}

// TestTruncatedResponse: the create is retried with its key, and is carried out once.
func TestTruncatedResponse(t *testing.T) {
	s := newService(1000, 1000)
	var n atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) > 1 {
			s.ServeHTTP(w, r)
			return
		}
		recorder := httptest.NewRecorder()
		s.ServeHTTP(recorder, r)
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write(recorder.Body.Bytes())
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()
	c, err := petcat.New(server.URL, validKey)
	must(t, err)
	got, _, err := c.Categories.Create(t.Context(), petcat.NewCategory{Name: "dog"})
	must(t, err)
	if got.ID != 1 || n.Load() != 2 || len(s.names()) != 1 {
		t.Errorf("created %+v in %d requests: %v", got, n.Load(), s.names())
	}
}

// TestNotSent: the error of a request that was not sent has a known outcome, and a wrong scheme
// is not retried.
func TestNotSent(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler()) // its certificate is not trusted
	defer secure.Close()
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	closed := httptest.NewServer(nil)
	closed.Close()
	noTLS := strings.Replace(plain.URL, "http:", "https:", 1)
	for url, retries := range map[string]int{noTLS: 8, secure.URL: 8, closed.URL: 0} {
		c, err := petcat.New(url, validKey, petcat.WithRetries(retries))
		must(t, err)
		err = createAll(t.Context(), c, "cat", 1)
		want := "cannot connect to " + strings.Split(url, "//")[1] + ": "
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v", url, err)
		}
		if _, lost := errors.AsType[*petcat.ConnectionError](err); !lost || errors.Is(err, petcat.ErrOutcomeUnknown) {
			t.Errorf("%s: the error is %v", url, err)
		}
	}
	c, err := petcat.New(strings.Replace(secure.URL, "https:", "http:", 1), validKey)
	must(t, err)
	err = createAll(t.Context(), c, "cat", 1)
	if err == nil || !strings.Contains(err.Error(), "400: Client sent an HTTP request to an HTTPS server.") {
		t.Errorf("http to a port with TLS: %v", err)
	}
}

// TestDeadline: a call returns at once if a wait would exceed the deadline of its context.
func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		down := says(503, petcat.CodeServiceUnavailable, "Retry-After", "5")
		f := &faults{service: newService(60, 1000), first: []func(*http.Request) (*http.Response, error){down}}
		_, _, err := dial(t, f).Categories.List(ctx)
		wantCode(t, err, petcat.CodeServiceUnavailable)
		if took := time.Since(begun); took > 0 {
			t.Errorf("it took %s", took)
		}
	})
}

// TestAll: All requests pages until an error or the end of the loop.
func TestAll(t *testing.T) {
	s := newService(1000, 100_000)
	for i := range 2500 {
		s.categories = append(s.categories, petcat.Category{ID: int64(i + 1), Name: fmt.Sprint("cat ", i+1)})
	}
	f := &faults{service: s, first: []func(*http.Request) (*http.Response, error){
		s.RoundTrip, s.RoundTrip, s.RoundTrip, s.RoundTrip, says(http.StatusForbidden, petcat.CodeForbidden),
	}}
	all := dial(t, f).Categories.All(t.Context(), petcat.PageOptions{})
	n := int64(0)
	for category, err := range all {
		must(t, err)
		if n++; category.ID != n {
			t.Fatalf("category %d is number %d", category.ID, n)
		}
	}
	if n != 2500 || len(f.sent) != 3 {
		t.Errorf("%d categories in %d requests", n, len(f.sent))
	}
	n = 0
	var failure error
	for _, err := range all {
		if failure = err; err == nil {
			n++
		}
	}
	wantCode(t, failure, petcat.CodeForbidden)
	if n != 1000 {
		t.Errorf("%d categories before the error, want the first page", n)
	}
	for _, err := range all {
		must(t, err)
		break
	}
	if len(f.sent) != 6 {
		t.Errorf("%d requests", len(f.sent))
	}
}

// TestDo: Do calls any operation.
func TestDo(t *testing.T) {
	once := []func(*http.Request) (*http.Response, error){says(200, "any_code")}
	f := &faults{service: newService(60, 1000), first: once}
	var out struct{ Code string }
	res, err := dial(t, f).Do(t.Context(), http.MethodPut, "/anything?q=1", map[string]int{"n": 2}, &out)
	must(t, err)
	if text := fmt.Sprint(*res); strings.Contains(text, "97 110 121 95 99 111 100 101") { // the bytes of any_code
		t.Errorf("the Response contains the body: %s", text)
	}
	sent := f.sent[0]
	if sent.method != http.MethodPut || sent.path != "/v1/anything?q=1" || sent.body != `{"n":2}` {
		t.Errorf("sent %+v", sent)
	}
	if out.Code != "any_code" || res.Status != http.StatusOK {
		t.Errorf("decoded %+v and %+v", out, res)
	}
}

// TestEveryCodeHasAConstant: each code of the document has a constant.
func TestEveryCodeHasAConstant(t *testing.T) {
	text, err := os.ReadFile("error.go")
	must(t, err)
	document, err := os.ReadFile("../api/openapi.json")
	must(t, err)
	var api struct {
		Components struct {
			Schemas struct {
				Error struct {
					Properties struct {
						Code struct {
							Codes []string `json:"x-extensible-enum"`
						}
					}
				}
			}
		}
	}
	must(t, json.Unmarshal(document, &api))
	codes := api.Components.Schemas.Error.Properties.Code.Codes
	for _, code := range codes {
		if !regexp.MustCompile(`\tCode\w+ +Code = "` + code + `"\n`).Match(text) {
			t.Errorf("there is no constant for %s", code)
		}
	}
	if len(codes) < 20 {
		t.Errorf("the document has the codes %q", codes)
	}
	missing := &petcat.Error{Status: 404, Code: petcat.CodeNotFound, Message: "no", RequestID: "R"}
	err = fmt.Errorf("wrapped: %w", missing)
	if !errors.Is(err, petcat.CodeNotFound) || errors.Is(err, petcat.CodeForbidden) {
		t.Errorf("the code of %v", err)
	}
	if err.Error() != "wrapped: 404 not_found: no (request R)" {
		t.Errorf("the error is %v", err)
	}
}

// TestLogger: each retry is logged with its reason, and each response at level Debug.
func TestLogger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		down := says(503, petcat.CodeServiceUnavailable)
		f := &faults{service: newService(60, 1000), first: []func(*http.Request) (*http.Response, error){down}}
		handler := slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})
		c := dial(t, f, petcat.WithLogger(slog.New(handler)))
		must(t, createAll(t.Context(), c, "cat", 1))
		for _, want := range []string{
			`level=INFO msg="request failed and is retried" method=POST path=/categories attempt=1 wait=`,
			`error="503 service_unavailable: not now"`,
			`level=DEBUG msg=response method=POST path=/categories status=503`, `status=201 request_id=TESTS001-1`,
		} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("%q is not in the log:\n%s", want, log.String())
			}
		}
	})
}
