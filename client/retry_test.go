//go:build go1.26

package petcat_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"petcat/client"
)

// faults is a transport that answers its first requests itself, and hands the others to
// the service.
type faults struct {
	service *service
	first   []func(*http.Request) (*http.Response, error)
	sent    []seen
}

func (f *faults) RoundTrip(r *http.Request) (*http.Response, error) {
	n := len(f.sent)
	f.sent = append(f.sent, seen{at: time.Now(), method: r.Method, header: r.Header.Clone()})
	if n < len(f.first) {
		return f.first[n](r)
	}
	return f.service.RoundTrip(r)
}

// says answers with a status, a code and headers.
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

// fails gives no answer.
func fails(err error) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

// cut sends a part of an answer.
func cut(r *http.Request) (*http.Response, error) {
	res, err := says(http.StatusOK, "")(r)
	res.Body = io.NopCloser(io.MultiReader(strings.NewReader(`[{"id":`), brokenReader{}))
	return res, err
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// operations are the calls of a client that tests compare; the service has category 1.
var operations = map[string]func(context.Context, *petcat.Client) error{
	"list": func(ctx context.Context, c *petcat.Client) error {
		_, _, err := c.Categories.List(ctx)
		return err
	},
	"create": func(ctx context.Context, c *petcat.Client) error {
		_, _, err := c.Categories.Create(ctx, petcat.NewCategory{Name: "dog"})
		return err
	},
	"update": func(ctx context.Context, c *petcat.Client) error {
		_, _, err := c.Categories.Update(ctx, 1, petcat.CategoryChange{Name: new("dog")})
		return err
	},
	"update with a condition": func(ctx context.Context, c *petcat.Client) error {
		_, _, err := c.Categories.Update(ctx, 1, petcat.CategoryChange{Name: new("dog")}, petcat.WithIfMatch(tagOf(petcat.Category{ID: 1, Name: "cat"})))
		return err
	},
	"delete": func(ctx context.Context, c *petcat.Client) error {
		_, err := c.Categories.Delete(ctx, 1)
		return err
	},
	"usage": func(ctx context.Context, c *petcat.Client) error {
		_, _, err := c.Usage(ctx)
		return err
	},
}

// TestRetries: which failure of which operation is repeated, and when.
func TestRetries(t *testing.T) {
	all := []string{"list", "create", "update", "update with a condition", "delete", "usage"}
	repeatable := []string{"list", "create", "update with a condition", "delete", "usage"}
	for _, c := range []struct {
		name     string
		fault    func(*http.Request) (*http.Response, error)
		repeated []string
		after    time.Duration // at least, at most a second later
	}{
		{name: "no answer", fault: fails(io.ErrUnexpectedEOF), repeated: repeatable, after: 250 * time.Millisecond},
		{name: "half an answer", fault: cut, repeated: repeatable, after: 250 * time.Millisecond},
		{name: "408", fault: says(408, petcat.CodeRequestTimeout), repeated: all, after: 250 * time.Millisecond},
		{name: "409", fault: says(409, petcat.CodeIdempotencyInProgress, "Retry-After", "3"), repeated: repeatable, after: 3 * time.Second},
		{name: "429", fault: says(429, petcat.CodeRateLimitExceeded, "Retry-After", "7"), repeated: all, after: 7 * time.Second},
		{name: "429 of a proxy", fault: says(429, ""), repeated: all, after: 250 * time.Millisecond},
		{name: "500", fault: says(500, petcat.CodeInternalError), repeated: repeatable, after: 250 * time.Millisecond},
		{name: "502 of a proxy", fault: says(502, ""), repeated: repeatable, after: 250 * time.Millisecond},
		{name: "503", fault: says(503, petcat.CodeServiceUnavailable, "Retry-After", "5"), repeated: repeatable, after: 5 * time.Second},
		{name: "522 of a proxy", fault: says(522, ""), repeated: repeatable, after: 250 * time.Millisecond},
		{name: "503 until a date", fault: says(503, "", "Retry-After", "Sat, 01 Jan 2000 01:00:09 GMT", "Date", "Sat, 01 Jan 2000 01:00:00 GMT"), repeated: repeatable, after: 9 * time.Second},
		{name: "503 until the end of time", fault: says(503, "", "Retry-After", "99999999999999999999")},
		{name: "503 with an unreadable wait", fault: says(503, "", "Retry-After", "3.5"), repeated: repeatable, after: 250 * time.Millisecond},
		{name: "429 until its window ends", fault: says(429, "", "X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "946688408", "Date", "Sat, 01 Jan 2000 01:00:00 GMT"), repeated: all, after: 8 * time.Second},
		{name: "504 of a proxy", fault: says(504, ""), repeated: repeatable, after: 250 * time.Millisecond},
		{name: "400", fault: says(400, petcat.CodeInvalidField)},
		{name: "401", fault: says(401, petcat.CodeRevokedAPIKey)},
		{name: "403", fault: says(403, petcat.CodeForbidden)},
		{name: "409 of another kind", fault: says(409, petcat.CodeCategoryInUse)},
		{name: "413", fault: says(413, petcat.CodeBodyTooLarge, "X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "946684860")},
		{name: "412", fault: says(412, petcat.CodePreconditionFailed)},
		{name: "422", fault: says(422, petcat.CodeIdempotencyKeyReused)},
		{name: "501", fault: says(501, "")},
		{name: "certificate", fault: fails(&tls.CertificateVerificationError{Err: errors.New("unknown authority")})},
	} {
		for _, operation := range all {
			t.Run(c.name+" "+operation, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newService(60, 1000)
					s.categories = []petcat.Category{{ID: 1, Name: "cat"}}
					f := &faults{service: s, first: []func(*http.Request) (*http.Response, error){c.fault}}
					err := operations[operation](t.Context(), dial(t, f))
					if !slices.Contains(c.repeated, operation) {
						if err == nil || len(f.sent) != 1 {
							t.Errorf("it was sent %d times; the error is %v", len(f.sent), err)
						}
						return
					}
					must(t, err)
					if len(f.sent) != 2 {
						t.Fatalf("it was sent %d times, want 2", len(f.sent))
					}
					if took := f.sent[1].at.Sub(f.sent[0].at); took < c.after || took > c.after+time.Second {
						t.Errorf("it was sent again after %s, want %s and less than a second", took, c.after)
					}
				})
			})
		}
	}
}

// TestBackoff: the delays double, have jitter, and end.
func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &faults{service: newService(60, 1000)}
		for range 100 {
			f.first = append(f.first, fails(errors.New("connection refused")))
		}
		begun := time.Now()
		_, _, err := dial(t, f).Categories.List(t.Context())
		if err == nil || !strings.Contains(err.Error(), "GET /v1/categories") || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("the error is %v", err)
		}
		if len(f.sent) != 9 {
			t.Fatalf("it was sent %d times, want 9", len(f.sent))
		}
		whole := 500 * time.Millisecond
		for i := 1; i < len(f.sent); i++ {
			if d := f.sent[i].at.Sub(f.sent[i-1].at); d < whole/2 || d > whole {
				t.Errorf("delay %d is %s, want between %s and %s", i, d, whole/2, whole)
			}
			whole = min(2*whole, 30*time.Second)
		}
		if took := time.Since(begun); took < 45*time.Second {
			t.Errorf("it gave up after %s", took)
		}
	})
}

// TestIdempotencyKeys: all requests of a create have one key, and other creates others.
func TestIdempotencyKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(60, 1000)
		lost := func(r *http.Request) (*http.Response, error) {
			_, err := s.RoundTrip(r)
			return nil, errors.Join(err, io.ErrUnexpectedEOF)
		}
		f := &faults{service: s, first: []func(*http.Request) (*http.Response, error){lost, says(500, petcat.CodeInternalError), lost}}
		c := dial(t, f)
		for _, options := range [][]petcat.Option{nil, nil, {petcat.WithIdempotencyKey("mine")}} {
			_, _, err := c.Categories.Create(t.Context(), petcat.NewCategory{Name: "dog"}, options...)
			must(t, err)
		}
		wantKeys := func(first, last int, want func(key string) bool) {
			t.Helper()
			for _, r := range f.sent[first : last+1] {
				if key := r.header.Get("Idempotency-Key"); !want(key) {
					t.Errorf("requests %d to %d: the key is %q", first, last, key)
				}
			}
		}
		if len(f.sent) != 6 || len(s.names()) != 3 {
			t.Fatalf("%d requests created %v", len(f.sent), s.names())
		}
		made := f.sent[0].header.Get("Idempotency-Key")
		wantKeys(0, 3, func(key string) bool { return key == made && len(key) >= 26 })
		wantKeys(4, 4, func(key string) bool { return key != made && len(key) >= 26 })
		wantKeys(5, 5, func(key string) bool { return key == "mine" })
	})
}

// TestDeleteTwice: a delete whose answer was lost finds nothing the second time, and that
// is a success; a delete that never found anything is an error.
func TestDeleteTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &faults{service: many(1), first: []func(*http.Request) (*http.Response, error){fails(io.ErrUnexpectedEOF)}}
		f.service.categories = nil // the request whose answer was lost has deleted it
		c := dial(t, f)
		must(t, operations["delete"](t.Context(), c))
		if len(f.sent) != 2 {
			t.Errorf("it was sent %d times", len(f.sent))
		}
		wantCode(t, operations["delete"](t.Context(), c), petcat.CodeNotFound)
	})
}

// TestOutcomeUnknown: an error says whether the change may have happened all the same,
// whatever its last request got.
func TestOutcomeUnknown(t *testing.T) {
	lost := fails(io.ErrUnexpectedEOF)
	unreachable := func(r *http.Request) (*http.Response, error) {
		httptrace.ContextClientTrace(r.Context()).GetConn("") // and never GotConn
		return nil, errors.New("connection refused")
	}
	for _, c := range []struct {
		name  string
		first []func(*http.Request) (*http.Response, error)
		want  bool
	}{
		{"no answer", []func(*http.Request) (*http.Response, error){lost, lost}, true},
		{"no connection", []func(*http.Request) (*http.Response, error){unreachable, unreachable}, false},
		{"no answer, then no connection", []func(*http.Request) (*http.Response, error){lost, unreachable}, true},
		{"no answer, then 401", []func(*http.Request) (*http.Response, error){lost, says(401, petcat.CodeRevokedAPIKey)}, true},
		{"500", []func(*http.Request) (*http.Response, error){says(500, ""), says(500, "")}, true},
		{"503, then 429 for long", []func(*http.Request) (*http.Response, error){says(503, ""), says(429, "", "Retry-After", "7200")}, true},
		{"429 for long", []func(*http.Request) (*http.Response, error){says(429, "", "Retry-After", "7200")}, false},
		{"409 while the first runs", []func(*http.Request) (*http.Response, error){says(409, petcat.CodeIdempotencyInProgress), says(409, petcat.CodeIdempotencyInProgress)}, true},
		{"408", []func(*http.Request) (*http.Response, error){says(408, petcat.CodeRequestTimeout), says(408, petcat.CodeRequestTimeout)}, false},
		{"400", []func(*http.Request) (*http.Response, error){says(400, petcat.CodeInvalidField)}, false},
		{"an answer that is none", []func(*http.Request) (*http.Response, error){says(201, "")}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &faults{service: newService(60, 1000), first: c.first}
				_, _, err := dial(t, f, petcat.WithRetries(1)).Categories.Create(t.Context(), petcat.NewCategory{Name: "dog"})
				if err == nil || errors.Is(err, petcat.ErrOutcomeUnknown) != c.want {
					t.Errorf("the error is %v; want that its outcome is unknown: %t", err, c.want)
				}
			})
		})
	}
}

// TestForeignAnswers: a success that the service does not give is an error, of an unknown
// outcome if it was a change.
func TestForeignAnswers(t *testing.T) {
	for body, operation := range map[string]string{"{}": "create", "null": "list", `{"id":1}`: "list", "<html>": "create", `{"id":"x"}`: "delete"} {
		c := dial(t, transport(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
		}))
		err := operations[operation](t.Context(), c)
		if (err == nil) != (operation == "delete") || errors.Is(err, petcat.ErrOutcomeUnknown) != (operation == "create") {
			t.Errorf("%s with %s: %v", operation, body, err)
		}
	}
}

// TestNotSent: what could not be sent says so, and a mistake in the URL is not retried.
func TestNotSent(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler()) // its certificate is not trusted
	defer secure.Close()
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	closed := httptest.NewServer(nil)
	closed.Close()
	for url, retries := range map[string]int{strings.Replace(plain.URL, "http:", "https:", 1): 8, secure.URL: 8, closed.URL: 0} {
		c, err := petcat.New(url, validKey, petcat.WithRetries(retries))
		must(t, err)
		err = operations["create"](t.Context(), c)
		if _, lost := errors.AsType[*petcat.ConnectionError](err); !lost || errors.Is(err, petcat.ErrOutcomeUnknown) {
			t.Errorf("%s: the error is %v", url, err)
		}
	}
}
