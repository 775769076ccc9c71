package server

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"petcat"
)

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
	faults atomic.Int64 // how many were found so far

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
	faults, more := check.Faults()
	switch {
	case ctx.Err() != nil:
	case err != nil:
		w.wait = auditRetry
		w.logger.WarnContext(ctx, "the audit log could not be read; retrying in a minute", "error", err)
	case len(faults) > 0:
		w.faults.Add(int64(len(faults) + more))
		w.known, w.wait = false, auditRetry // the next check begins at the newest entry, so it reports these faults no second time
		w.logger.ErrorContext(ctx, "the audit log was altered; see all faults with petcat audit verify", "first", faults[0], "faults", len(faults)+more, "head", w.head.String())
	default:
		w.known, w.wait, w.head = true, auditInterval, check.Head()
		w.logger.InfoContext(ctx, "the head of the audit log, for petcat audit verify --head", "head", w.head.String())
	}
}
