package server

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"petcat/internal/clock"
	"petcat/internal/logging"
)

// setLevel is what an operator has set, or an error.
type setLevel struct {
	level slog.Level
	until time.Time
	err   error
}

func (s *setLevel) LogLevel(context.Context) (level slog.Level, until time.Time, err error) {
	return s.level, s.until, s.err
}

// TestLogLevelIsFollowed: what an operator sets holds until its time ends, whether or not
// the database answers then. Each change is in the log.
func TestLogLevelIsFollowed(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := logging.New(&out, slog.LevelInfo, logging.Text)
	c := clock.NewManual(time.Now())
	store := new(setLevel)
	w := &levelWatch{store: store, clock: c, log: log, setting: slog.LevelInfo}
	sets := func(level slog.Level, length time.Duration) {
		store.level, store.until = level, c.Read().Time().Add(length)
	}
	follows := func(when string, want slog.Level, line string) {
		t.Helper()
		w.check(t.Context())
		log.Flush()
		if log.Level() != want || line == "" && out.Len() > 0 || !strings.Contains(out.String(), line) {
			t.Errorf("%s: the level is %s, want %s, and the log says %q", when, log.Level(), want, out.String())
		}
		out.Reset()
	}
	follows("nothing is set", slog.LevelInfo, "")
	sets(slog.LevelError, time.Hour)
	follows("a level that hides", slog.LevelError, "from=INFO to=ERROR")
	follows("the same", slog.LevelError, "")
	sets(slog.LevelDebug, time.Minute)
	follows("a level that shows", slog.LevelDebug, "from=ERROR to=DEBUG")
	store.err = errors.New("no answer")
	follows("no answer", slog.LevelDebug, "")
	c.Advance(time.Minute)
	follows("its end", slog.LevelInfo, "from=DEBUG to=INFO")
}
