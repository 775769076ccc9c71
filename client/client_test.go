//go:build go1.26

package petcat_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"petcat/client"
)

func TestNew(t *testing.T) {
	for _, c := range []struct{ name, url, key, environment, fails string }{
		{name: "with the version", url: "https://petcat.test/v1", key: validKey},
		{name: "without", url: "https://petcat.test", key: validKey},
		{name: "below a path", url: "http://petcat.test/pets/v1/", key: validKey},
		{name: "from the environment", environment: validKey},
		{name: "key with quotes", url: "https://petcat.test", key: `"` + validKey + `"`, fails: "quotes"},
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
			t.Setenv("PETCAT_URL", "https://environment.test")
			t.Setenv("PETCAT_API_KEY", c.environment)
			api, err := petcat.New(c.url, c.key, petcat.WithHTTPClient(&http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
				asked = r.URL.String()
				return s.RoundTrip(r)
			})}))
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) || strings.Contains(err.Error(), validKey) {
					t.Errorf("the error is %v, want %q", err, c.fails)
				}
				return
			}
			must(t, err)
			_, _, _ = api.Categories.List(t.Context())
			c.url = cmp.Or(c.url, "https://environment.test")
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
	c := dial(t, s, petcat.WithUserAgent("acme/1.2"))
	_, _, err := c.Categories.Create(t.Context(), petcat.NewCategory{Name: "dog"})
	must(t, err)
	sent := s.last()
	for name, want := range map[string]string{
		"Authorization": "^Bearer " + validKey + "$", "Content-Type": "^application/json$", "Accept": "^application/json$",
		"User-Agent": `^petcat-go/\d+\.\d+\.\d+ \(go1\.\S+; \w+/\w+\) acme/1\.2$`, "Idempotency-Key": `^\w{26,}$`,
	} {
		if got := sent.header.Get(name); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%s is %q, want %s", name, got, want)
		}
	}
	if sent.body != `{"name":"dog"}` {
		t.Errorf("the body is %s", sent.body)
	}
	_, _, err = c.Categories.List(t.Context())
	must(t, err)
	if h := s.last().header; h.Get("Content-Type") != "" || h.Get("Idempotency-Key") != "" {
		t.Errorf("a list says %v", h)
	}
}

// TestKeyIsShownNowhere: neither in what is printed of a Client, nor in errors.
func TestKeyIsShownNowhere(t *testing.T) {
	wrong := transport(func(r *http.Request) (*http.Response, error) {
		return nil, errors.New("no route to " + r.URL.Host)
	})
	c := dial(t, wrong, petcat.WithRetries(0))
	_, _, failed := c.Categories.List(t.Context())
	s := newService(60, 1000)
	_, _, refused := dial(t, s).Categories.Get(t.Context(), 7)
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
	if !strings.Contains(texts["an error"], "petcat: GET /v1/categories: ") || !strings.Contains(texts["a refusal"], "404 not_found") {
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
	for name, option := range map[string]petcat.Option{
		"default":     petcat.WithRetries(1),
		"http.Client": petcat.WithHTTPClient(&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return nil }}),
	} {
		c, err := petcat.New(here.URL, validKey, option)
		must(t, err)
		_, _, err = c.Categories.Create(t.Context(), petcat.NewCategory{Name: "dog"})
		if e, ok := errors.AsType[*petcat.Error](err); !ok || e.Status != http.StatusFound || !strings.Contains(e.Message, other.URL) {
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
	c, err := petcat.New(server.URL, validKey)
	must(t, err)
	got, _, err := c.Categories.Create(t.Context(), petcat.NewCategory{Name: "dog"})
	must(t, err)
	if got.ID != 1 || n.Load() != 2 || len(s.names()) != 1 {
		t.Errorf("created %+v in %d requests: %v", got, n.Load(), s.names())
	}
}

// TestEveryCodeHasAConstant: each code of the service can be asked for by its name.
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
	err = fmt.Errorf("wrapped: %w", &petcat.Error{Status: 404, Code: petcat.CodeNotFound, Message: "no", RequestID: "R"})
	if !errors.Is(err, petcat.CodeNotFound) || errors.Is(err, petcat.CodeForbidden) || err.Error() != "wrapped: 404 not_found: no (request R)" {
		t.Errorf("the error is %v", err)
	}
}

func TestUsageAndLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(60, 1000)
		c := dial(t, s)
		if got := c.Limits(); got != (petcat.Limits{}) {
			t.Errorf("before the first answer: %+v", got)
		}
		midnight := time.Now()
		time.Sleep(12 * time.Second)
		for range 3 { // of answers that come at once, any may be the last
			must(t, createAll(t.Context(), c, "cat", 1))
		}
		got, _, err := c.Usage(t.Context())
		must(t, err)
		want := []petcat.WindowUsage{
			{Window: "minute", Limit: 60, Used: 3, Remaining: 57, Reset: petcat.Timestamp{Time: time.Unix(midnight.Unix()+60, 0)}},
			{Window: "day", Limit: 1000, Used: 3, Remaining: 997, Reset: petcat.Timestamp{Time: time.Unix(midnight.Unix()+24*60*60, 0)}},
		}
		if got.Plan != "free" || got.Ban != nil || !slices.Equal(got.Windows, want) {
			t.Errorf("usage is %+v", got)
		}
		if l := c.Limits(); l.Limit != 60 || l.Remaining != 57 || !l.Reset.Equal(midnight.Add(time.Minute)) {
			t.Errorf("limits are %+v", l)
		}
		s.ban(time.Hour)
		got, _, err = c.Usage(t.Context())
		must(t, err)
		if want := time.Now().Add(time.Hour); got.Ban == nil || !got.Ban.Until.Equal(want) {
			t.Errorf("the ban is %+v, want one until %s", got.Ban, want)
		}
	})
}

// TestLogger: each retry is logged with its reason, and each response for who wants to know.
func TestLogger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		f := &faults{service: newService(60, 1000), first: []func(*http.Request) (*http.Response, error){says(503, petcat.CodeServiceUnavailable)}}
		c := dial(t, f, petcat.WithLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))))
		must(t, createAll(t.Context(), c, "cat", 1))
		for _, want := range []string{
			`level=INFO msg="request failed and is retried" method=POST path=/categories attempt=1 wait=`, `error="503 service_unavailable: not now"`,
			`level=DEBUG msg=response method=POST path=/categories status=503`, `status=201 request_id=TESTS001-1`,
		} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("%q is not in the log:\n%s", want, log.String())
			}
		}
	})
}
