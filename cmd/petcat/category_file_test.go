package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	client "github.com/petcat-api/petcat/client"
)

// stubService is a service with categories and a daily quota.
type stubService struct {
	url string

	mu      sync.Mutex
	quota   int // guarded by mu, like all below
	list    []client.Category
	age     string          // of the list; "" or "0": it is current
	created func(count int) // after each create
}

func newStubService(t *testing.T) *stubService {
	t.Helper()
	s := &stubService{quota: 1000, created: func(int) {}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *stubService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	status, body, reset := http.StatusOK, any(s.list), time.Now().Unix()+3600
	switch {
	case r.URL.Path == "/v1/usage":
		body = map[string]any{
			"plan":    "free",
			"windows": []any{map[string]any{"window": "day", "limit": 20, "remaining": s.quota, "reset": reset}},
		}
	case s.quota == 0:
		w.Header().Set("Retry-After", "3600")
		status, body = http.StatusTooManyRequests, map[string]string{
			"code": "daily_quota_exceeded", "message": "all requests of today are used",
		}
	case r.Method == http.MethodPost:
		s.quota--
		c := client.Category{ID: int64(len(s.list) + 1)}
		_ = json.NewDecoder(r.Body).Decode(&c)
		s.list = append(s.list, c)
		status, body = http.StatusCreated, c
		s.created(len(s.list))
	default: // the list
		s.quota--
		if s.list == nil {
			body = []string{}
		}
	}
	h := w.Header()
	if s.age != "" {
		h.Set("Age", s.age)
	}
	h.Set("X-RateLimit-Limit", "20")
	h.Set("X-RateLimit-Remaining", fmt.Sprint(s.quota))
	h.Set("X-RateLimit-Reset", fmt.Sprint(reset))
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// imports runs petcat category import.
func (s *stubService) imports(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, errs strings.Builder
	environ := []string{"PETCAT_API_KEY=pck_live_x", "PETCAT_URL=" + s.url}
	args = append([]string{"category", "import"}, args...)
	code = run(ctx, args, environ, strings.NewReader("name\nhamster\n"), &out, &errs)
	return code, out.String(), errs.String()
}

// wantImport imports a file. stdout and stderr are patterns.
func (s *stubService) wantImport(ctx context.Context, t *testing.T, code int, stdout, stderr string, args ...string) {
	t.Helper()
	gotCode, gotOut, gotErr := s.imports(ctx, args...)
	if gotCode != code || !regexp.MustCompile("^"+stdout).MatchString(gotOut) ||
		!regexp.MustCompile("^"+stderr+"$").MatchString(gotErr) {
		t.Errorf("exit code %d, %q, %q; want %d, %q, %q", gotCode, gotOut, gotErr, code, stdout, stderr)
	}
}

// TestImport checks the output of imports with different outcomes.
func TestImport(t *testing.T) {
	s, file := newStubService(t), filepath.Join(t.TempDir(), "pets.csv")
	names := strings.Repeat("category\n", 90)
	must(t, os.WriteFile(file, []byte("name\n"+names+"a,b\n"), 0o600))
	bad := file + ":92: invalid_row: the first line has 1 fields, this row has 2\n"
	again := "run the command again to continue"

	ctx, cancel := context.WithCancel(t.Context())
	s.created = func(count int) {
		if count == 20 {
			cancel()
		}
	}
	s.wantImport(ctx, t, exitInterrupted, `.*: \d+ rows created, 0 existed already, 1 rejected`,
		bad+`petcat: interrupted; \d+ rows were sent; `+again+"\n", file)

	s.list, s.quota = s.list[:10], 22 // one request reads the list
	daily := again + `; if you run it every day, it finishes on \d{4}-\d\d-\d\d` + "\n"
	s.wantImport(t.Context(), t, exitTryLater, ".*: 21 rows created, 10 existed already, 1 rejected",
		bad+`petcat: .* 429 daily_quota_exceeded.*; `+daily, file)

	s.quota, s.age = 1000, "0" // some proxies send it
	rejected := bad + "petcat: 1 row of " + file + " rejected; correct the file and run the command again\n"
	for _, out := range []string{"59 rows created, 31", "0 rows created, 90"} {
		s.wantImport(t.Context(), t, exitData, ".*: "+out+" existed already, 1 rejected", rejected, file)
	}
	s.wantImport(t.Context(), t, exitData, ".*: 0 rows would be created, 90 existed already, 1 rejected",
		rejected, file, "--dry-run")

	input := []string{"-", "--format", "csv"} // one row
	dry := append(input, "--dry-run")
	s.quota = 20
	s.wantImport(t.Context(), t, exitDone, `-: 1 row would be created, 0 existed already, 0 rejected\.`, "", dry...)
	s.quota = 1 // the list uses it
	s.wantImport(t.Context(), t, exitDone,
		`-: 1 row would be created, .* With the quotas, the last row is sent on \d{4}-\d\d-\d\d\.`, "", dry...)
	s.quota = 0
	s.wantImport(t.Context(), t, exitDone,
		`-: 1 row would be created, .* With the quotas, the last row is sent on \d{4}-\d\d-\d\d\.`,
		"", append(dry, "--allow-duplicates")...)
	s.quota = 1000
	invalid := filepath.Join(t.TempDir(), "invalid.jsonl")
	must(t, os.WriteFile(invalid, []byte(`{"name":"\n"}`), 0o600))
	s.wantImport(t.Context(), t, exitData, ".*: 0 rows would be created, 0 existed already, 1 rejected",
		".*: invalid_field: name .*\npetcat: 1 row of .* rejected; .*\n", invalid, "--dry-run")
	s.wantImport(t.Context(), t, exitDone, "-: 1 row created, 0 existed already, 0 rejected", "", input...)
	const document = `(?s)\{.*"complete": true,\s+"dry_run": false,\s+"created": 1,\s+"updated": 0,\s+` +
		`"existing": 0,\s+"rejected": \[\]`
	s.wantImport(t.Context(), t, exitDone, document, "", append(input, "--allow-duplicates", "--json")...)
	s.age = "3"
	s.wantImport(t.Context(), t, exitTryLater, "$",
		"petcat: nothing was sent: .*; wait until the database is back; "+again+"\n", file)
	if len(s.list) != 92 {
		t.Errorf("%d categories", len(s.list))
	}
	if files, err := filepath.Glob(filepath.Dir(file) + "/*"); err != nil || len(files) != 1 {
		t.Errorf("files in the directory: %v, %v", files, err)
	}
}

// TestProgress checks that progress is redrawn on a terminal, and not shown elsewhere.
func TestProgress(t *testing.T) {
	for terminal, want := range map[bool]string{true: "\r\x1b[?7l7 rows\x1b[K\x1b[?7h\r\x1b[K", false: ""} {
		synctest.Test(t, func(t *testing.T) {
			var shown strings.Builder
			p := &program{stderr: &shown, isTerminal: func(any) bool { return terminal }}
			p.showing(true, func() string { return "7 rows" }, func() { time.Sleep(150 * time.Millisecond) })
			if diff := cmp.Diff(want, shown.String()); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
}
