package store

import (
	"context"
	"log/slog"
	"time"

	"petcat"
)

const (
	// cleanEvery is how often what has expired is deleted.
	cleanEvery = time.Minute
	// dayRetention is how long days are kept after their end, for operators'
	// questions about the last month, and how long the calls that changed them are
	// known.
	dayRetention = 35 * 24 * time.Hour
)

// Clean deletes everything that has expired, in small batches between which other
// writes get their turn.
func (s *Store) Clean(ctx context.Context) error {
	skip := s.dialect.SkipLocked
	idempotency := `DELETE FROM idempotency WHERE (account_id, key) IN
		(SELECT account_id, key FROM idempotency WHERE created_at <= ? ORDER BY created_at LIMIT ?` + skip + `)`
	days := `DELETE FROM day_count WHERE (day, account_id) IN
		(SELECT day, account_id FROM day_count WHERE day < ? ORDER BY day, account_id LIMIT ?` + skip + `)`
	calls := `DELETE FROM day_call WHERE caller IN
		(SELECT caller FROM day_call WHERE made_at <= ? LIMIT ?` + skip + `)`
	now := Now(s.clock)
	forgotten := now.Add(-dayRetention)
	for _, expired := range []struct {
		query  string
		before int64
	}{
		{idempotency, now.Add(-petcat.IdempotencyRetention).UnixMilli()},
		{days, petcat.Day.Index(forgotten.Unix())},
		{calls, forgotten.UnixMilli()},
	} {
		if err := s.DeleteAll(ctx, expired.query, expired.before); err != nil {
			return err
		}
	}
	return nil
}

// DeleteAll repeats a deletion of one batch until nothing is left. The query's
// parameters are before and the size of a batch.
func (s *Store) DeleteAll(ctx context.Context, query string, before int64) error {
	for {
		deleted, err := s.db.Exec(ctx, "delete what has expired", query, before, s.dialect.CleanBatch)
		if err != nil || deleted < int64(s.dialect.CleanBatch) {
			return err
		}
	}
}

// RunClean calls clean every minute until ctx ends. A late deletion
// has no visible effect: after an error the next one is tried.
func RunClean(ctx context.Context, logger *slog.Logger, clean func(context.Context) error) {
	tick := time.NewTicker(cleanEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := clean(ctx); err != nil && ctx.Err() == nil {
			logger.WarnContext(ctx, "expired rows could not be deleted; retrying in a minute", "error", err)
		}
	}
}
