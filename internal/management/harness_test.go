package management_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/apicheck"
	"github.com/petcat-api/petcat/internal/clientnet"
	"github.com/petcat-api/petcat/internal/clocktest"
	"github.com/petcat-api/petcat/internal/datadir"
	"github.com/petcat-api/petcat/internal/management"
	"github.com/petcat-api/petcat/internal/ratelimit"
	"github.com/petcat-api/petcat/internal/sqlite"
	"github.com/petcat-api/petcat/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is the time at which the tests start.
var noon = time.Date(2027, 3, 14, 12, 0, 18, 0, time.UTC)

// cli is the actor of all changes that prepare a test.
const cli petcat.Actor = "cli:test"

// failuresPerMinute is the limit of requests with an invalid token per address.
const failuresPerMinute = 600

// service is the management API with a real store. It checks each response against the OpenAPI
// document.
type service struct {
	t      *testing.T
	clock  *clocktest.Manual
	store  *store.Store
	server http.Handler
	token  string       // of the next requests
	said   bytes.Buffer // the log and all responses
}

func start(t *testing.T) *service {
	t.Helper()
	s := &service{t: t, clock: clocktest.NewManual(noon)}
	dir, err := datadir.Open(t.TempDir(), true)
	must(t, err)
	db, err := sqlite.Open(t.Context(), sqlite.Options{
		Dir:         dir,
		Environment: petcat.Production,
		Clock:       s.clock,
		Serving:     true,
	})
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	s.store = store.New(db, s.clock)
	s.server = s.serve(s.store)
	s.token = s.newToken("ci", petcat.RoleAdmin)
	return s
}

// serve returns the management API on a store.
func (s *service) serve(st management.Store) http.Handler {
	return management.New(management.Options{
		Store: st,
		Keys:  petcat.KeyGenerator{Environment: petcat.Production, Random: rand.Reader},
		Holdings: func(petcat.AccountID) petcat.Holdings {
			return petcat.Holdings{Account: petcat.Storage{Categories: 3, Bytes: 456}}
		},
		Backups: func(context.Context) ([]any, error) { return []any{}, nil },
		CustomerLink: func(token petcat.Secret) string {
			return "https://api.example.com/account#" + token.Reveal()
		},
		Door:   ratelimit.NewDoor[clientnet.Net](s.clock, failuresPerMinute, ratelimit.NewLookups(64)),
		Clock:  s.clock,
		Logger: slog.New(slog.NewTextHandler(&s.said, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantEqual compares two values.
func wantEqual[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// newToken creates an API token, and returns its secret.
func (s *service) newToken(name petcat.OperatorName, role petcat.Role) string {
	s.t.Helper()
	generated, err := petcat.GenerateOperatorToken(rand.Reader)
	must(s.t, err)
	_, err = s.store.CreateToken(s.t.Context(), petcat.By(cli), petcat.NewToken{
		Name: name,
		Role: role,
		Hash: generated.Hash,
		Hint: generated.Hint,
	})
	must(s.t, err)
	return generated.Secret.Reveal()
}

// response is a response with its body.
type response struct {
	status int
	header http.Header
	body   []byte
}

// decode returns the body of a response.
func decode[T any](t *testing.T, a response) (v T) {
	t.Helper()
	if err := json.Unmarshal(a.body, &v); err != nil {
		t.Fatalf("%s: %v", a.body, err)
	}
	return v
}

// request returns a request with the token.
func (s *service) request(ctx context.Context, method, path, body string) *http.Request {
	r := httptest.NewRequestWithContext(ctx, method, "/admin/v1"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+s.token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// send sends a request, and checks the response against the document.
func (s *service) send(r *http.Request) response {
	s.t.Helper()
	w := httptest.NewRecorder()
	s.server.ServeHTTP(w, r)
	fmt.Fprintln(&s.said, w.Header(), w.Body)
	a := response{status: w.Code, header: w.Header(), body: w.Body.Bytes()}
	result := w.Result()
	result.Request = r
	if err := apicheck.Management(strings.TrimPrefix(r.Pattern, "/admin/v1"), result, a.body); err != nil {
		s.t.Errorf("%s %s: %v", r.Method, r.URL, err)
	}
	return a
}

// call sends a request with the token. headers are names and values.
func (s *service) call(method, path, body string, headers ...string) response {
	s.t.Helper()
	r := s.request(s.t.Context(), method, path, body)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return s.send(r)
}

// want sends a request that must get a status.
func (s *service) want(status int, method, path, body string, headers ...string) response {
	s.t.Helper()
	a := s.call(method, path, body, headers...)
	if a.status != status {
		s.t.Fatalf("%s %s: status %d, want %d: %s", method, path, a.status, status, a.body)
	}
	return a
}

func (s *service) get(path string) response {
	s.t.Helper()
	return s.want(http.StatusOK, http.MethodGet, path, "")
}

// create sends a POST that must create a resource.
func (s *service) create(path, body string) response {
	s.t.Helper()
	return s.want(http.StatusCreated, http.MethodPost, path, body)
}

// post sends a POST that must change a resource.
func (s *service) post(path, body string) response {
	s.t.Helper()
	return s.want(http.StatusOK, http.MethodPost, path, body)
}

func (s *service) patch(path, body string) response {
	s.t.Helper()
	return s.want(http.StatusOK, http.MethodPatch, path, body)
}

func (s *service) remove(path string) response {
	s.t.Helper()
	return s.want(http.StatusOK, http.MethodDelete, path, "")
}

// errorObject is the body of an error.
type errorObject struct {
	Code    petcat.Code
	Message string
	Status  int
}

// rejected sends a request that must get an error.
func (s *service) rejected(status int, code petcat.Code, method, path, body string, headers ...string) response {
	s.t.Helper()
	a := s.want(status, method, path, body, headers...)
	if got := decode[errorObject](s.t, a); got.Code != code {
		s.t.Errorf("%s %s: %+v, want the code %s", method, path, got, code)
	}
	return a
}

// resource is a part of a resource that has an id.
type resource struct {
	ID string
}

// ids returns the ids of a list, in order.
func ids(t *testing.T, a response) []string {
	t.Helper()
	all := []string{}
	for _, r := range decode[[]resource](t, a) {
		all = append(all, r.ID)
	}
	return all
}
