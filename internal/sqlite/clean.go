package sqlite

import (
	"context"
	"time"

	"petcat"
)

const (
	// cleanBatch keeps each deletion under a millisecond: it shares its
	// transaction with creates that somebody waits for.
	cleanBatch = 500
	// dayRetention is how long days are kept after their end, for operators'
	// questions about the last month, and how long the calls that changed them are
	// known.
	dayRetention = 35 * 24 * time.Hour
)

// cleanNow deletes everything that has expired, in small batches between which
// other writes get their turn.
func (s *Store) cleanNow(ctx context.Context) error {
	const (
		idempotency = `DELETE FROM idempotency WHERE (account_id, key) IN
			(SELECT account_id, key FROM idempotency WHERE created_at <= ? ORDER BY created_at LIMIT ?)`
		days = `DELETE FROM day_count WHERE (day, account_id) IN
			(SELECT day, account_id FROM day_count WHERE day < ? ORDER BY day LIMIT ?)`
		calls = `DELETE FROM day_call WHERE caller IN
			(SELECT caller FROM day_call WHERE made_at <= ? LIMIT ?)`
	)
	moment := now(s.clock)
	oldest := moment.Add(-petcat.IdempotencyRetention).UnixMilli()
	if err := s.deleteAll(ctx, idempotency, oldest); err != nil {
		return err
	}
	forgotten := moment.Add(-dayRetention)
	if err := s.deleteAll(ctx, days, petcat.Day.Index(forgotten.Unix())); err != nil {
		return err
	}
	return s.deleteAll(ctx, calls, forgotten.UnixMilli())
}

// deleteAll repeats a deletion of one batch until nothing is left.
func (s *Store) deleteAll(ctx context.Context, query string, before int64) error {
	for {
		var deleted int64
		err := s.change(ctx, "delete what has expired", func(t *tx) error {
			const changes = `SELECT changes()`
			if err := t.exec(query, before, cleanBatch); err != nil {
				return err
			}
			return t.get(changes, nil, &deleted)
		})
		if err != nil || deleted < cleanBatch {
			return err
		}
	}
}
