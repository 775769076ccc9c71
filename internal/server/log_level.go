package server

import (
	"context"
	"log/slog"
	"time"

	"petcat/internal/clock"
	"petcat/internal/logging"
)

// levelInterval is how often a node looks whether an operator wants another level of its
// log, and so how late it follows.
const levelInterval = 2 * time.Second

func untilLevelLook() time.Duration { return levelInterval }

// logLevels tells what an operator wants.
type logLevels interface {
	LogLevel(ctx context.Context) (level slog.Level, until time.Time, err error)
}

// levelWatch has the log follow the level that an operator sets for all nodes, for as long
// as that holds, and otherwise that of the settings.
type levelWatch struct {
	store   logLevels
	clock   clock.Clock
	log     *logging.Log
	setting slog.Level

	// As they were told last; of the goroutine that looks.
	wanted slog.Level
	until  time.Time
}

func (w *levelWatch) look(ctx context.Context) {
	if level, until, err := w.store.LogLevel(ctx); err == nil {
		w.wanted, w.until = level, until // else what is known still ends in time
	}
	level := w.setting
	if w.clock.Read().Time().Before(w.until) {
		level = w.wanted
	}
	before := w.log.Level()
	if level == before {
		return
	}
	// The line is to be in the log also when the new level hides it.
	w.log.SetLevel(min(level, before))
	w.log.InfoContext(ctx, "the log level changes", "from", before, "to", level)
	w.log.SetLevel(level)
}
