package client_test

import (
	"encoding/json"
	"errors"
	"fmt"
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

	"github.com/google/go-cmp/cmp"

	"petcat"
	"petcat/client"
)

func TestNew(t *testing.T) {
	for _, c := range []struct{ name, url, key, fails string }{
		{name: "with the version", url: "https://petcat.test/v1", key: validKey},
		{name: "without", url: "https://petcat.test", key: validKey},
		{name: "below a path", url: "http://petcat.test/pets/v1/", key: validKey},
		{name: "no key", url: "https://petcat.test", fails: "the API key is empty"},
		{name: "key with the end of its line", url: "https://petcat.test", key: validKey + "\n", fails: "white space"},
		{name: "no scheme", url: "petcat.test/v1", key: validKey, fails: "must be like https"},
		{name: "key as the URL", url: validKey, key: "https://petcat.test", fails: "must be like https"},
		{name: "key in the URL", url: "https://" + validKey + "@petcat.test", key: validKey, fails: "must have no user"},
		{name: "key in the query", url: "https://petcat.test/v1?key=" + validKey, key: validKey, fails: "must have no user, query"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newService(60, 1000)
			var asked string
			api, err := client.New(c.url, c.key, client.WithTransport(transport(func(r *http.Request) (*http.Response, error) {
				asked = r.URL.String()
				return s.RoundTrip(r)
			})))
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) || strings.Contains(err.Error(), validKey) {
					t.Errorf("the error is %v, want %q", err, c.fails)
				}
				return
			}
			must(t, err)
			_, _ = api.Categories.List(t.Context())
			want := strings.TrimRight(strings.TrimSuffix(strings.TrimRight(c.url, "/"), "/v1"), "/") + "/v1/categories"
			if asked != want {
				t.Errorf("it asked for %s, want %s", asked, want)
			}
		})
	}
}

// TestRequest: what a request says of itself.
func TestRequest(t *testing.T) {
	s := newService(1000, 1000)
	c := newClient(t, s, client.WithUserAgent("acme/1.2"))
	_, err := c.Categories.Create(t.Context(), client.NewCategory{Name: "dog"})
	must(t, err)
	sent := last(s)
	for name, want := range map[string]string{
		"Authorization": "^Bearer " + validKey + "$", "Content-Type": "^application/json$", "Accept": "^application/json$",
		"User-Agent": `^acme/1\.2 petcat-go \(go1\.\S+; \w+/\w+\)$`, "Idempotency-Key": `^\w{26,}$`,
	} {
		if got := sent.header.Get(name); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%s is %q, want %s", name, got, want)
		}
	}
	if sent.body != `{"name":"dog"}` {
		t.Errorf("the body is %s", sent.body)
	}
	_, err = c.Categories.List(t.Context())
	must(t, err)
	if h := last(s).header; h.Get("Content-Type") != "" || h.Get("Idempotency-Key") != "" {
		t.Errorf("a list says %v", h)
	}
}

// TestKeyIsShownNowhere: neither in what is printed of a Client, nor in errors.
func TestKeyIsShownNowhere(t *testing.T) {
	wrong := transport(func(r *http.Request) (*http.Response, error) {
		return nil, errors.New("no route to " + r.URL.Host)
	})
	c := dial(t, client.WithTransport(wrong), client.WithRetries(0))
	_, failed := c.Categories.List(t.Context())
	s := newService(60, 1000)
	_, refused := newClient(t, s).Categories.Get(t.Context(), 7)
	texts := map[string]string{"an error": fmt.Sprintf("%v %+v %#v", failed, failed, failed), "a refusal": fmt.Sprintf("%v %+v %#v", refused, refused, refused)}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		texts[verb] = fmt.Sprintf(verb, c) + fmt.Sprintf(verb, *c.Categories)
	}
	encoded, _ := json.Marshal(c)
	texts["JSON"] = string(encoded)
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Error("failed", "client", c, "error", failed)
	slog.New(slog.NewJSONHandler(&log, nil)).Error("failed", "client", c, "error", refused)
	texts["log"] = log.String()
	for what, text := range texts {
		if strings.Contains(text, validKey) || strings.Contains(text, fmt.Sprintf("%x", validKey)) {
			t.Errorf("%s shows the key: %s", what, text)
		}
	}
	if !strings.Contains(texts["an error"], "petcat: list categories: ") || !strings.Contains(texts["a refusal"], "404 not_found") {
		t.Errorf("the errors are %q", texts)
	}
}

// TestRedirect: the key goes to no other host, and a create does not become a read.
func TestRedirect(t *testing.T) {
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	here := httptest.NewServer(http.RedirectHandler(other.URL+"/v1/categories", http.StatusFound))
	defer here.Close()
	for name, option := range map[string]client.Option{
		"default":     client.WithRetries(1),
		"http.Client": client.WithHTTPClient(&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return nil }}),
	} {
		c, err := client.New(here.URL, validKey, option)
		must(t, err)
		_, err = c.Categories.Create(t.Context(), client.NewCategory{Name: "dog"})
		if e, ok := errors.AsType[*client.Error](err); !ok || e.Status != http.StatusFound || !strings.Contains(e.Message, other.URL) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	if n := elsewhere.Load(); n != 0 {
		t.Errorf("%d requests went elsewhere", n)
	}
}

// TestConnectionCutInTheMiddleOfAnAnswer: the create is repeated with its key, and happens once.
func TestConnectionCutInTheMiddleOfAnAnswer(t *testing.T) {
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
	c, err := client.New(server.URL, validKey)
	must(t, err)
	got, err := c.Categories.Create(t.Context(), client.NewCategory{Name: "dog"})
	must(t, err)
	if got.ID != 1 || n.Load() != 2 || len(s.names()) != 1 {
		t.Errorf("created %+v in %d requests: %v", got, n.Load(), s.names())
	}
}

// TestEveryCodeHasAConstant: each code of the service can be asked for by its name.
func TestEveryCodeHasAConstant(t *testing.T) {
	text, err := os.ReadFile("error.go")
	must(t, err)
	for _, code := range petcat.Codes() {
		if !regexp.MustCompile(`\tCode\w+ +Code = "` + string(code) + `"\n`).Match(text) {
			t.Errorf("there is no constant for %s", code)
		}
	}
	err = fmt.Errorf("wrapped: %w", &client.Error{Status: 404, Code: client.CodeNotFound, Message: "no", RequestID: "R"})
	if !errors.Is(err, client.CodeNotFound) || errors.Is(err, client.CodeForbidden) || err.Error() != "wrapped: 404 not_found: no (request R)" {
		t.Errorf("the error is %v", err)
	}
}

func TestUsage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(60, 1000)
		c := newClient(t, s)
		midnight := time.Now()
		time.Sleep(12 * time.Second)
		must(t, createAll(t.Context(), c, "cat", 3))
		got, err := c.Usage(t.Context())
		must(t, err)
		want := client.Usage{Plan: "free", Windows: []client.WindowUsage{
			{Window: "minute", Limit: 60, Used: 3, Remaining: 57, Reset: midnight.Add(time.Minute)},
			{Window: "day", Limit: 1000, Used: 3, Remaining: 997, Reset: midnight.Add(24 * time.Hour)},
		}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("usage (-want +got):\n%s", diff)
		}
		s.ban(time.Hour)
		got, err = c.Usage(t.Context())
		must(t, err)
		if want := time.Now().Add(time.Hour); got.Ban == nil || !got.Ban.Until.Equal(want) {
			t.Errorf("the ban is %+v, want one until %s", got.Ban, want)
		}
	})
}

func TestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(60, 1000)
		c := newClient(t, s)
		if got := c.Limits(); got.Limit != 0 || got.Windows != nil {
			t.Errorf("before the first answer: %+v", got)
		}
		midnight := time.Now()
		time.Sleep(12 * time.Second)
		for range 3 { // of answers that come at once, any may be the last
			must(t, createAll(t.Context(), c, "cat", 1))
		}
		want := client.Limits{
			Limit: 60, Remaining: 57, Reset: midnight.Add(time.Minute), Received: time.Now(),
			Windows: []client.Window{
				{Name: "minute", Limit: 60, Length: time.Minute, Remaining: 57, Reset: midnight.Add(time.Minute)},
				{Name: "day", Limit: 1000, Length: 24 * time.Hour, Remaining: 997, Reset: midnight.Add(24 * time.Hour)},
			},
		}
		if diff := cmp.Diff(want, c.Limits()); diff != "" {
			t.Errorf("limits (-want +got):\n%s", diff)
		}
	})
}
