package httpapi_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/api"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/httpapi"
	"github.com/petcat-api/petcat/internal/keyring"
)

const (
	site       = "https://app.example.com"
	otherSite  = "http://localhost:3000"
	allow      = "Access-Control-Allow-Origin"
	expose     = "Access-Control-Expose-Headers"
	asksMethod = "Access-Control-Request-Method"
)

func fromPage(origin string) request { return withHeader("Origin", origin) }

func allowing(origins ...string) func(*httpapi.Options) {
	return func(o *httpapi.Options) { o.CORSOrigins = origins }
}

// preflight sends the preflight of a create, as a browser does.
func (s *service) preflight(path, origin string, changes ...request) *response {
	s.t.Helper()
	changes = append(changes, fromPage(origin), withHeader(asksMethod,
		"POST"), withHeader("Access-Control-Request-Headers", "authorization,content-type"))
	return s.do(http.MethodOptions, path, nil, changes...)
}

// wantClosed checks that there are no CORS headers.
func wantClosed(t *testing.T, a *response) {
	t.Helper()
	for name := range a.Header {
		if strings.HasPrefix(name, "Access-Control-") {
			t.Errorf("%s: %s", name, a.Header.Get(name))
		}
	}
}

func wantOpen(t *testing.T, a *response, origin string) {
	t.Helper()
	wantHeader(t, a, allow, origin)
	if exposed := a.Header.Get(expose); !strings.Contains(exposed, "X-RateLimit-Remaining") {
		t.Errorf("%d: exposed headers %q", a.StatusCode, exposed)
	}
}

func TestPreflight(t *testing.T) {
	s := start(t, allowing(otherSite, site), func(o *httpapi.Options) { o.Keyring = untouchable{t: t} })
	t.Run("204 on every path, without checking the key", func(t *testing.T) {
		for _, path := range []string{"/v1/categories", "/v1/categories/1", "/v1/nothing", "/v1"} {
			a := s.preflight(path, site, withHeader("Authorization", "Bearer pck_live_x"))
			wantStatus(t, a, 204)
			wantHeader(t, a, allow, site)
			const headers = "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match"
			wantHeader(t, a, "Access-Control-Allow-Headers", headers)
			wantHeader(t, a, "Access-Control-Allow-Credentials", "")
			wantHeader(t, a, "Vary", "Origin")
			methods := strings.Split(a.Header.Get("Access-Control-Allow-Methods"), ", ")
			for _, o := range petcat.Operations() {
				if !slices.Contains(methods, o.Method) {
					t.Errorf("%q lacks %s of %s", methods, o.Method, o.ID)
				}
			}
		}
	})
	t.Run("it is recorded, and is not a failed attempt", func(t *testing.T) {
		s.mu.Lock()
		s.records = nil
		s.mu.Unlock()
		a := s.preflight("/v1/categories", site)
		if limit := a.number(t, "X-RateLimit-Limit"); a.number(t, "X-RateLimit-Remaining") != limit {
			t.Errorf("%s of %d attempts remain", a.Header.Get("X-RateLimit-Remaining"), limit)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.records) != 1 || s.records[0].Status != 204 || s.records[0].Decision.Allowed {
			t.Errorf("records: %+v", s.records)
		}
	})
	t.Run("any other OPTIONS needs a key", func(t *testing.T) {
		wantError(t, s.do("OPTIONS", "/v1/categories", nil, fromPage(site)), 401, petcat.CodeMissingAPIKey)
	})
	t.Run("with *, all origins get the same response, without Vary", func(t *testing.T) {
		open := start(t, allowing("*"))
		wantStatus(t, open.preflight("/v1/categories", "null"), 204)
		a := open.list(fromPage(otherSite))
		wantOpen(t, a, "*")
		wantHeader(t, a, "Vary", "")
	})
}

// untouchable is a keyring that must not be used.
type untouchable struct {
	*keyring.Keyring // nil

	t *testing.T
}

func (u untouchable) Identify(string, clock.Reading) (*keyring.Caller, error) {
	u.t.Error("a key was checked")
	return nil, errors.New("untouchable")
}

// TestForeignOrigins: origins that resemble an allowed one, and invalid ones, do not get CORS headers,
// but Vary: Origin.
func TestForeignOrigins(t *testing.T) {
	s := start(t, allowing(site, otherSite))
	key, _ := s.key(s.account("acme", petcat.Enterprise, 10_000, 10_000))
	for _, hostile := range []string{
		"null",
		"",
		"*",
		"https://app.example.com.evil.example",
		"https://evil.example/https://app.example.com",
		"https://evilapp.example.com",
		"https://app.example.com/",
		"https://app.example.com:443",
		"http://app.example.com",
		"https://APP.example.com",
		"https://app.example.com@evil.example",
		"https://x.app.example.com",
		"app.example.com",
		"https://app.example.com.",
		"http://localhost:30000",
		"http://127.0.0.1:3000",
		strings.Repeat("https://app.example.com", 100),
	} {
		a := s.preflight("/v1/categories", hostile)
		wantError(t, a, 401, petcat.CodeMissingAPIKey)
		wantClosed(t, a)
		wantHeader(t, a, "Vary", "Origin")
		wantClosed(t, s.list(withKey(key), fromPage(hostile)))
	}
}

// TestAllowedOrigins: pages of allowed origins can read every response.
func TestAllowedOrigins(t *testing.T) {
	s := start(t, allowing(site, otherSite), func(o *httpapi.Options) {
		o.Documents = map[string]http.Handler{"/openapi.json": document("{}")}
	})
	key, _ := s.key(s.account("acme", petcat.Pro))
	spent, _ := s.key(s.account("spent", petcat.Enterprise, 1, 1))
	wantStatus(t, s.list(withKey(spent)), 200)
	page := fromPage(site)

	for status, a := range map[int]*response{
		200: s.list(withKey(key), page),
		201: s.create(`{"name":"dog"}`, withKey(key), page),
		401: s.list(page),
		429: s.list(withKey(spent), page),
	} {
		wantStatus(t, a, status)
		wantOpen(t, a, site)
		if vary := a.Header.Get("Vary"); !strings.HasSuffix(vary, "Origin") {
			t.Errorf("Vary: %q", vary)
		}
	}
	t.Run("another allowed origin", func(t *testing.T) {
		wantOpen(t, s.list(withKey(key), fromPage(otherSite)), otherSite)
	})
	t.Run("outside /v1", func(t *testing.T) {
		for _, path := range []string{"/openapi.json", "/nothing"} {
			a := s.do("GET", path, nil, page)
			wantOpen(t, a, site)
			wantHeader(t, a, "Vary", "Origin")
			wantClosed(t, s.do("GET", path, nil, fromPage("https://other.example")))
		}
		wantStatus(t, s.preflight("/openapi.json", site), 204)
	})
}

// TestCORSHeadersMatchDocument: a page can send and read all headers in the OpenAPI document, except
// those that browsers control.
func TestCORSHeadersMatchDocument(t *testing.T) {
	document, err := openapi3.NewLoader().LoadFromData(api.YAML(""))
	must(t, err)
	s := start(t, allowing(site))
	sent := strings.Split(s.preflight("/v1/categories", site).Header.Get("Access-Control-Allow-Headers"), ", ")
	read := strings.Split(s.list(fromPage(site)).Header.Get(expose), ", ")
	// docs/limits.md uses Date, and 405 has Allow. The document lists neither.
	for _, name := range []string{"Date", "Allow"} {
		if !slices.Contains(read, name) {
			t.Errorf("a page cannot read %s", name)
		}
	}
	// The first three are always readable; the others are for browsers and caches.
	read = append(read, "Cache-Control", "Content-Type", "Content-Length", "Content-Encoding", "Vary")
	for path, item := range document.Paths.Map() {
		for method, o := range item.Operations() {
			for _, p := range o.Parameters {
				if p.Value.In == openapi3.ParameterInHeader && !slices.Contains(sent, p.Value.Name) {
					t.Errorf("%s %s: a page cannot send %s", method, path, p.Value.Name)
				}
			}
			for status, r := range o.Responses.Map() {
				for name := range r.Value.Headers {
					if !slices.Contains(read, name) {
						t.Errorf("%s %s %s: a page cannot read %s", method, path, status, name)
					}
				}
			}
		}
	}
}
