package e2e

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestLogLevelChangesWhileItRuns: the access log stops and comes back, without a restart.
func TestLogLevelChangesWhileItRuns(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, data)
	key := newCaller(t, data)
	lines := func() int { return strings.Count(s.log.String(), `"msg":"request"`) }
	wantStatus(t, s.list(key), http.StatusOK)
	eventually(t, 10*time.Second, "requests are logged", func() bool { return lines() > 0 })
	petcatDoes(t, data, "log-level", "warn")
	eventually(t, 10*time.Second, "the node follows", func() bool { return strings.Contains(s.log.String(), `"to":"WARN"`) })
	before := lines()
	wantStatus(t, s.list(key), http.StatusOK)
	petcatDoes(t, data, "log-level", "reset")
	eventually(t, 10*time.Second, "the node is back", func() bool { return strings.Contains(s.log.String(), `"to":"INFO"`) })
	if now := lines(); now != before {
		t.Errorf("%d requests are in the log that should not be", now-before)
	}
	wantStatus(t, s.list(key), http.StatusOK)
	eventually(t, 10*time.Second, "requests are logged again", func() bool { return lines() > before })
	s.mustStop()
}
