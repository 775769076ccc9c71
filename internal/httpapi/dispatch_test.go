package httpapi_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/catalog"
	"github.com/petcat-api/petcat/internal/httpapi"
)

// document serves a text.
func document(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
}

func TestDispatch(t *testing.T) {
	s := start(t, func(o *httpapi.Options) {
		o.Documents = map[string]http.Handler{"/openapi.json": document("{}"), "/docs/": document("file")}
	})
	key, _ := s.key(s.account("acme", petcat.Enterprise, 100_000, 1_000_000))

	t.Run("404", func(t *testing.T) {
		for path, hint := range map[string]string{
			"/v1":                          "its reference at /docs",
			"/v1/":                         "/docs",
			"/v1/dogs":                     "/docs",
			"/v1/categories/":              "did you mean /v1/categories?",
			"/v1//categories":              "/v1/categories?",
			"/v1/v1/categories":            "/v1/categories?",
			"/v1/categories/../categories": "/v1/categories?",
			"/v1/Categories":               "/v1/categories?",
			"/v1/category":                 "/v1/categories?",
			"/v1/pet":                      "/v1/pets?",
			"/v1/store":                    "/v1/store/orders?",
			"/v1/categories/1/2":           "/v1/categories?",
		} {
			a := s.do("GET", path, nil, withKey(key))
			wantError(t, a, 404, petcat.CodeNotFound)
			wantMessage(t, a, hint)
		}
	})
	t.Run("405", func(t *testing.T) {
		for _, method := range []string{"PUT", "OPTIONS", "BREW"} {
			a := s.do(method, "/v1/categories", nil, withKey(key))
			wantError(t, a, 405, petcat.CodeMethodNotAllowed)
			wantHeader(t, a, "Allow", "GET, HEAD, POST")
		}
	})
	t.Run("HEAD has the length of GET", func(t *testing.T) {
		for _, path := range []string{"/v1/categories", "/v1/categories?limit=0", "/v1/usage", "/nothing"} {
			get, head := s.do("GET", path, nil, withKey(key)), s.do("HEAD", path, nil, withKey(key))
			if head.StatusCode != get.StatusCode || len(head.body) != 0 {
				t.Errorf("%s: HEAD has %d and %q, GET has %d", path, head.StatusCode, head.body, get.StatusCode)
			}
			wantHeader(t, head, "Content-Length", get.Header.Get("Content-Length"))
		}
	})
	t.Run("outside", func(t *testing.T) {
		wantStatus(t, s.do("GET", "/openapi.json", nil), 200)
		wantStatus(t, s.do("GET", "/docs/file.css", nil), 200)
		post := s.do("POST", "/openapi.json", nil)
		wantError(t, post, 405, petcat.CodeMethodNotAllowed)
		wantHeader(t, post, "Allow", "GET, HEAD")
		for path, hint := range map[string]string{
			"/":               "/docs",
			"/categories":     "did you mean /v1/categories?",
			"/v1x":            "/docs",
			"//v1/categories": "/v1/categories?",
			"/docs":           "/docs",
			"/openapi.json/x": "/openapi.json",
		} {
			a := s.do("GET", path, nil)
			wantError(t, a, 404, petcat.CodeNotFound)
			wantMessage(t, a, hint)
		}
	})
}

// TestHeaderSpelling checks the contract's spelling, which Go's client hides.
func TestHeaderSpelling(t *testing.T) {
	s := start(t)
	key, _ := s.key(s.account("acme", petcat.Free))
	for _, authorization := range []string{"", "Authorization: Bearer " + key + "\r\n"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		must(t, err)
		defer conn.Close()
		const list = "GET /v1/categories HTTP/1.1\r\nHost: x\r\n%sConnection: close\r\n\r\n"
		_, err = fmt.Fprintf(conn, list, authorization)
		must(t, err)
		raw, err := io.ReadAll(bufio.NewReader(conn))
		must(t, err)
		for _, name := range []string{
			"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset",
			"RateLimit", "RateLimit-Policy", "X-Request-Id",
		} {
			if strings.Count(string(raw), "\r\n"+name+": ") != 1 {
				t.Errorf("%s is not there exactly once:\n%s", name, raw)
			}
		}
	}
}

// brokenList is a list that fails.
type brokenList struct{ fail func() error }

func (b brokenList) Current(context.Context, petcat.Revision) (*catalog.Snapshot, time.Duration, error) {
	return nil, 0, b.fail()
}

func (b brokenList) Holdings(petcat.AccountID) petcat.Holdings { return petcat.Holdings{} }

func TestServerErrors(t *testing.T) {
	var fail func() error
	s := start(t, func(o *httpapi.Options) { o.Catalog = brokenList{fail: func() error { return fail() }} })
	key, _ := s.key(s.account("acme", petcat.Pro))

	t.Run("500 does not show the cause", func(t *testing.T) {
		fail = func() error { return errors.New("disk /dev/sda: secret detail") }
		a := s.list(withKey(key))
		wantError(t, a, 500, petcat.CodeInternalError)
		if strings.Contains(string(a.body), "secret detail") || !strings.Contains(s.log.String(), "secret detail") {
			t.Errorf("response %s, log %s", a.body, s.log)
		}
		if !strings.Contains(s.log.String(), a.Header.Get("X-Request-Id")) {
			t.Error("the log does not contain the request id")
		}
	})
	t.Run("500 after a panic, and the next request succeeds", func(t *testing.T) {
		fail = func() error { panic("boom") }
		wantError(t, s.list(withKey(key)), 500, petcat.CodeInternalError)
		if !strings.Contains(s.log.String(), "dispatch_test.go") {
			t.Errorf("the log has no stack trace: %s", s.log)
		}
		wantStatus(t, s.create(`{"name":"dog"}`, withKey(key)), 201)
	})
	t.Run("503 has a Retry-After", func(t *testing.T) {
		fail = func() error { return petcat.Errorf(petcat.CodeServiceUnavailable, "the list is too old") }
		a := s.list(withKey(key))
		wantError(t, a, 503, petcat.CodeServiceUnavailable)
		wantHeader(t, a, "Retry-After", "1")
	})
}

func TestRecord(t *testing.T) {
	s := start(t)
	account := s.account("acme", petcat.Pro)
	key, id := s.key(account)
	wantStatus(t, s.create(`{"name":"dog"}`, withKey(key)), 201)
	wantStatus(t, s.create(`{}`, withKey(key)), 400)
	wantStatus(t, s.list(), 401)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.records) != 3 {
		t.Fatalf("%d records", len(s.records))
	}
	created, rejected, anonymous := s.records[0], s.records[1], s.records[2]
	if created.Operation != petcat.OpCreateCategory || created.Account != account.ID || created.Key != id ||
		created.Address.String() != "127.0.0.1" || !created.API || !created.Decision.Allowed {
		t.Errorf("record of the request to create: %+v", created)
	}
	if created.Status != 201 || created.Code != "" || created.Bytes != int64(len(`{"id":1,"name":"dog"}`)) {
		t.Errorf("record of the create: %+v", created)
	}
	if rejected.Status != 400 || rejected.Code != petcat.CodeMissingField || !rejected.Decision.Allowed {
		t.Errorf("record of the 400: %+v", rejected)
	}
	if anonymous.Status != 401 || anonymous.Decision.Allowed || anonymous.Account != 0 ||
		anonymous.Operation != petcat.OpListCategories || !anonymous.API {
		t.Errorf("record of the 401: %+v", anonymous)
	}
	if created.RequestID == rejected.RequestID || created.RequestID == "" {
		t.Errorf("request ids %q and %q", created.RequestID, rejected.RequestID)
	}
}

// TestHostIsReflectedNowhere: the Host header may be forged, and caches may store responses.
func TestHostIsReflectedNowhere(t *testing.T) {
	s := start(t)
	key, _ := s.key(s.account("acme", petcat.Pro))
	elsewhere := func(r *http.Request) { r.Host = "evil.example" }
	for range 2 {
		a := s.create(`{"name":"dog"}`, withKey(key), elsewhere)
		wantStatus(t, a, 201)
		if location := a.Header.Get("Location"); strings.Contains(location, "evil") {
			t.Errorf("Location: %s", location)
		}
	}
	for _, path := range []string{
		"/v1/categories?limit=1", "/v1/categories/3", "/v1/pets/1", "/v1/nothing", "/nothing", "/v1/usage",
	} {
		a := s.do("GET", path, nil, withKey(key), elsewhere)
		if text := fmt.Sprint(a.Header, string(a.body)); strings.Contains(text, "evil") {
			t.Errorf("%s: %s", path, text)
		}
	}
}
