package management_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/management"
)

// TestChanges: all operations but reads and the search by POST are changes, for which a viewer gets 403.
func TestChanges(t *testing.T) {
	t.Parallel()
	for _, r := range management.Routes() {
		want := r.Method != http.MethodGet && r.Path != "/keys/find"
		wantEqual(t, r.Method+" "+r.Path, want, r.Changes)
	}
}

func TestUnknownPath(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.rejected(404, "not_found", "GET", "/nothing", "")
	s.rejected(404, "not_found", "POST", "/accounts/acme/", "")
}

func TestUnknownMethod(t *testing.T) {
	t.Parallel()
	s := start(t)
	a := s.rejected(405, "method_not_allowed", "PUT", "/accounts", "")
	wantEqual(t, "Allow", "GET, POST", a.header.Get("Allow"))
}

// TestHead: a HEAD gets the status and the headers of a GET. The document does not describe HEAD.
func TestHead(t *testing.T) {
	t.Parallel()
	s := start(t)
	w := httptest.NewRecorder()
	s.server.ServeHTTP(w, s.request(t.Context(), http.MethodHead, "/accounts", ""))
	wantEqual(t, "status", http.StatusOK, w.Code)
	wantEqual(t, "headers", s.get("/accounts").header, w.Header())
}

func TestInvalidBody(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.rejected(415, "unsupported_media_type", "POST", "/accounts", `{}`, "Content-Type", "text/plain")
	tooLarge := `{"name":"` + strings.Repeat("a", 64<<10) + `"}`
	s.rejected(413, "body_too_large", "POST", "/accounts", tooLarge)
	for body, code := range map[string]petcat.Code{
		`{`:                                "malformed_json",
		`{"name":"a","name":"b"}`:          "malformed_json",
		`[]`:                               "invalid_body",
		`{"name":1}`:                       "invalid_field",
		`{"name":"a","plan":"free","x":1}`: "invalid_field",
	} {
		s.rejected(400, code, "POST", "/accounts", body)
	}
}

func TestListBackups(t *testing.T) {
	t.Parallel()
	s := start(t)
	wantEqual(t, "the backups", []any{}, decode[[]any](t, s.get("/backups")))
}
