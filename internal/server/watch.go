package server

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/logging"
)

// What a node watches besides its health: the audit log, and the level of its log.

const (
	// auditInterval is how often a node writes the head of the audit log to its log.
	auditInterval = 24 * time.Hour
	// auditRetry is how long it waits after it failed to read the audit log, or found it altered.
	auditRetry = time.Minute
)

// auditWatch writes the head of the audit log to the node's log: somebody who can write
// only the database cannot alter it there. It also checks the entries since the last head,
// usually those of one day, and never the whole audit log.
type auditWatch struct {
	store  petcat.AuditStore
	logger *slog.Logger
	faults atomic.Int64 // how many checks found one

	// Only the goroutine that calls check uses the rest.
	wait  time.Duration    // until the next check; 0 at the start
	known bool             // whether head is set
	head  petcat.AuditHead // the last head that was logged
}

func (w *auditWatch) untilCheck() time.Duration { return w.wait }

func (w *auditWatch) check(ctx context.Context) {
	var check petcat.AuditCheck
	q := petcat.AuditQuery{Newest: 1}
	if w.known {
		q = petcat.AuditQuery{From: w.head.Sequence}
		check.StartAt(w.head)
	}
	err := w.store.EachAuditEntry(ctx, q, func(e petcat.AuditEntry) error {
		if !w.known {
			check.StartAt(petcat.AuditHead{Sequence: e.Sequence, Hash: e.Hash})
		}
		check.Add(e)
		return nil
	})
	fault := check.Fault()
	switch {
	case ctx.Err() != nil:
	case err != nil:
		w.wait = auditRetry
		w.logger.WarnContext(ctx, "the audit log could not be read; retrying in a minute", "error", err)
	case fault != "":
		w.faults.Add(1)
		w.known, w.wait = false, auditRetry // the next check begins at the newest entry, so it does not report this fault again
		w.logger.ErrorContext(ctx, "the audit log was altered; check all of it with petcat audit verify", "fault", fault, "head", w.head.String())
	default:
		w.known, w.wait, w.head = true, auditInterval, check.Head()
		w.logger.InfoContext(ctx, "the head of the audit log, for petcat audit verify --head", "head", w.head.String())
	}
}

// levelInterval is how often a node reads which log level an operator has set.
const levelInterval = 2 * time.Second

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
