package storetest

import (
	"log/slog"
	"testing"
	"time"
)

// testLogLevel: all processes read the last level, and changes are in the audit log.
func testLogLevel(t *testing.T, open Open) {
	f := start(t, open)
	other := f.another(t)
	ctx := t.Context()
	wants := func(level slog.Level, until time.Time) {
		t.Helper()
		gotLevel, gotUntil, err := other.LogLevel(ctx)
		wantEqual(t, "the level", level, must(t, gotLevel, err))
		wantEqual(t, "its expiry", until, gotUntil)
	}
	wants(0, time.Time{})
	hour, minute := f.now().Add(time.Hour), f.now().Add(time.Minute)
	must(t, 0, f.SetLogLevel(ctx, operator, slog.LevelWarn, hour))
	wants(slog.LevelWarn, hour)
	must(t, 0, other.SetLogLevel(ctx, operator, slog.LevelDebug, minute))
	wants(slog.LevelDebug, minute)
	must(t, 0, f.SetLogLevel(ctx, operator, 0, time.Time{}))
	wants(0, time.Time{})

	var got []string
	for _, e := range f.audit(t) {
		got = append(got, string(e.Actor)+" "+e.Action+" "+e.Subject+" "+e.Detail)
	}
	wantEqual(t, "the audit log", []string{
		`cli:ada log.set_level log {"level":"WARN","until":"2027-03-04T13:00:00Z"}`,
		`cli:ada log.set_level log {"level":"DEBUG","until":"2027-03-04T12:01:00Z"}`,
		`cli:ada log.reset_level log {}`,
	}, got)
}
