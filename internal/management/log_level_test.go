package management_test

import (
	"testing"
	"time"

	"github.com/petcat-api/petcat"
)

// TestLogLevel: a log level applies to all nodes until its time has passed, or it is reset.
func TestLogLevel(t *testing.T) {
	t.Parallel()
	s := start(t)
	type logLevel struct {
		Level string
		Until *time.Time
	}
	wants := func(want logLevel, got response) {
		t.Helper()
		wantEqual(t, "the log level", want, decode[logLevel](t, got))
		wantEqual(t, "read again", want, decode[logLevel](t, s.get("/log-level")))
	}
	wants(logLevel{}, s.get("/log-level"))
	minutes := logLevel{Level: "debug", Until: new(noon.Add(5 * time.Minute))}
	wants(minutes, s.post("/log-level", `{"level":"debug","for":"5m"}`))
	wantEqual(t, "the audit entry", "token ci log.set_level log", s.lastAudited())
	s.clock.Advance(5 * time.Minute)
	wants(logLevel{}, s.get("/log-level"))
	hour := logLevel{Level: "warn", Until: new(noon.Add(5*time.Minute + time.Hour))}
	wants(hour, s.post("/log-level", `{"level":"WARN"}`))
	wants(logLevel{}, s.remove("/log-level"))
	wantEqual(t, "the audit entry", "token ci log.reset_level log", s.lastAudited())
	for _, wrong := range []string{
		`{}`,
		`{"level":"loud"}`,
		`{"level":"info","for":"0"}`,
		`{"level":"info","for":"soon"}`,
	} {
		s.rejected(400, "invalid_field", "POST", "/log-level", wrong)
	}
	s.token = s.newToken("watcher", petcat.RoleViewer)
	s.get("/log-level")
}
