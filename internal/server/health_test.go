package server

import (
	"encoding/json"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petcat/internal/clock"
)

// TestReadyzTellsSinceWhen: with ?verbose, each part says since when it is healthy or not,
// also when nobody asked while it changed.
func TestReadyzTellsSinceWhen(t *testing.T) {
	t.Parallel()
	manual := clock.NewManual(time.Date(2027, 3, 4, 12, 0, 0, 0, time.UTC))
	n := startTestNode(t, func(o *Options) { o.Clock, o.Settings.Data = manual, filepath.Join(t.TempDir(), "data") })
	n.monitor.close() // it checks when the test says so
	begun := manual.Read().Time()
	b := n.backend.(*sqliteBackend)
	check := func(after time.Duration, unreadable bool) time.Time {
		t.Helper()
		manual.Advance(after)
		b.unreadable.Store(unreadable)
		_ = n.health.note(n.condition())
		return manual.Read().Time()
	}
	tells := func(when string, want Part) {
		t.Helper()
		for _, path := range []string{"/readyz", "/readyz?verbose"} {
			w := httptest.NewRecorder()
			n.admin.Handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "http://localhost"+path, nil))
			var r Readiness
			if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil {
				t.Fatal(err)
			}
			if path == "/readyz" {
				if r.Parts != nil {
					t.Errorf("%s: %s tells of the parts: %v", when, path, r.Parts)
				}
				continue
			}
			if diff := cmp.Diff(want, r.Parts["store"]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", when, diff)
			}
			if got, want := r.Parts["keyring"], (Part{Healthy: true, Since: begun}); got != want {
				t.Errorf("%s: the keyring is %+v, want %+v", when, got, want)
			}
		}
	}
	const problem = "the database does not respond; the list of categories is served from memory, and all that needs the database fails"
	check(0, false)
	tells("at the start", Part{Healthy: true, Since: begun})
	failed := check(time.Second, true)
	check(time.Second, true)
	tells("two seconds later", Part{Since: failed, Problem: problem})
}
