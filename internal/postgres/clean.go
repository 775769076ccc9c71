package postgres

import (
	"context"
	"time"
)

const (
	// Of what nodes count together, days are kept until the next one is over, and early
	// retries for longer than anybody asks for them.
	sharedDays      = 1
	sharedRetention = time.Minute
)

// Clean deletes everything that has expired: also what only PostgreSQL has. Every
// node does; what one of them is deleting, the others pass over.
func (s *Store) Clean(ctx context.Context) error {
	const (
		// By the database's clock, which these tables go by.
		counts = `DELETE FROM shared_count WHERE (account_id, part) IN
			(SELECT account_id, part FROM shared_count WHERE day < floor(extract(epoch FROM clock_timestamp()) / 86400)::int8 - ? LIMIT ? FOR UPDATE SKIP LOCKED)`
		retries = `DELETE FROM shared_retry WHERE (key_id, node) IN
			(SELECT key_id, node FROM shared_retry WHERE told_at < floor(extract(epoch FROM clock_timestamp()))::int8 * 1000000000 - ? LIMIT ? FOR UPDATE SKIP LOCKED)`
	)
	if err := s.Store.Clean(ctx); err != nil {
		return err
	}
	if err := s.DeleteAll(ctx, counts, sharedDays); err != nil {
		return err
	}
	return s.DeleteAll(ctx, retries, sharedRetention.Nanoseconds())
}
