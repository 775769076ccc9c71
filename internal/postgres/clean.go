package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"petcat"
)

const (
	// cleanBatch keeps each deletion under some milliseconds.
	cleanBatch = 1000
	// dayRetention is how long days are kept after their end, for operators'
	// questions about the last month, and how long the calls that changed them are
	// known.
	dayRetention = 35 * 24 * time.Hour
	// Of what nodes count together, days are kept until the next one is over, and early
	// retries for longer than anybody asks for them.
	sharedDays      = 1
	sharedRetention = time.Minute
)

// cleanNow deletes everything that has expired, in small batches. Every node
// does; what one of them is deleting, the others pass over.
func (s *Store) cleanNow(ctx context.Context) error {
	const (
		idempotency = `DELETE FROM idempotency WHERE (account_id, key) IN
			(SELECT account_id, key FROM idempotency WHERE created_at <= $1 ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)`
		days = `DELETE FROM day_count WHERE (day, account_id) IN
			(SELECT day, account_id FROM day_count WHERE day < $1 ORDER BY day, account_id LIMIT $2 FOR UPDATE SKIP LOCKED)`
		calls = `DELETE FROM day_call WHERE caller IN
			(SELECT caller FROM day_call WHERE made_at <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)`
		// By the database's clock, which these tables go by.
		sharedCounts = `DELETE FROM shared_count WHERE (account_id, part) IN
			(SELECT account_id, part FROM shared_count WHERE day < floor(extract(epoch FROM clock_timestamp()) / 86400)::int8 - $1 LIMIT $2 FOR UPDATE SKIP LOCKED)`
		sharedRetries = `DELETE FROM shared_retry WHERE (key_id, node) IN
			(SELECT key_id, node FROM shared_retry WHERE told_at < floor(extract(epoch FROM clock_timestamp()))::int8 * 1000000000 - $1 LIMIT $2 FOR UPDATE SKIP LOCKED)`
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
	if err := s.deleteAll(ctx, calls, forgotten.UnixMilli()); err != nil {
		return err
	}
	if err := s.deleteAll(ctx, sharedCounts, sharedDays); err != nil {
		return err
	}
	return s.deleteAll(ctx, sharedRetries, sharedRetention.Nanoseconds())
}

// deleteAll repeats a deletion of one batch until nothing is left.
func (s *Store) deleteAll(ctx context.Context, query string, before int64) error {
	for {
		var deleted int64
		var batch pgx.Batch
		batch.Queue(settings)
		batch.Queue(query, before, cleanBatch).Exec(func(tag pgconn.CommandTag) error {
			deleted = tag.RowsAffected()
			return nil
		})
		if err := s.write(ctx, "delete what has expired", &batch); err != nil || deleted < cleanBatch {
			return err
		}
	}
}
