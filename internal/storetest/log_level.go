package storetest

import (
	"log/slog"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
)

// testLogLevel: all processes read the last level, and changes are in the audit log.
func testLogLevel(t *testing.T, open Open) {
	f := start(t, open)
	other := f.another(t)
	ctx := t.Context()
	wants := func(level slog.Level, until time.Time) {
		t.Helper()
		gotLevel, gotUntil, err := other.LogLevel(ctx)
		wantEqual(t, "the level", level, must(gotLevel, err))
		wantEqual(t, "its expiry", until, gotUntil)
	}
	wants(0, time.Time{})
	hour, minute := f.now().Add(time.Hour), f.now().Add(time.Minute)
	by := petcat.By(operator)
	set := must(f.SetLogLevel(ctx, by, slog.LevelWarn, hour)).Value
	wantEqual(t, "the result", slog.LevelWarn, set)
	wants(slog.LevelWarn, hour)
	must(other.SetLogLevel(ctx, by, slog.LevelDebug, minute))
	wants(slog.LevelDebug, minute)
	must(f.SetLogLevel(ctx, by, 0, time.Time{}))
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
