package server

import (
	"context"
	"log/slog"
	"time"

	"petcat/internal/clock"
	"petcat/internal/logging"
)

// levelInterval is how often a node reads which log level an operator has set.
const levelInterval = 2 * time.Second

func untilLevelCheck() time.Duration { return levelInterval }

// logLevels keeps the log level that an operator has set.
type logLevels interface {
	// LogLevel returns the level and when it ends; without one, the zero time.
	LogLevel(ctx context.Context) (level slog.Level, until time.Time, err error)
}

// levelWatch gives the log the level that an operator has set for all nodes, until that
// ends, and otherwise the level of the settings.
type levelWatch struct {
	store   logLevels
	clock   clock.Clock
	log     *logging.Log
	setting slog.Level

	// What the store returned last. Only the goroutine that calls check uses them.
	wanted slog.Level
	until  time.Time
}

func (w *levelWatch) check(ctx context.Context) {
	if level, until, err := w.store.LogLevel(ctx); err == nil {
		w.wanted, w.until = level, until // after an error, the last level still ends in time
	}
	level := w.setting
	if w.clock.Read().Time().Before(w.until) {
		level = w.wanted
	}
	before := w.log.Level()
	if level == before {
		return
	}
	// The line must be logged at the lower of both levels, or one of them could hide it.
	w.log.SetLevel(min(level, before))
	w.log.InfoContext(ctx, "the log level changes", "from", before, "to", level)
	w.log.SetLevel(level)
}
