package store

import (
	"context"
	"log/slog"
	"time"

	"petcat"
)

const (
	// cleanEvery is how often expired rows are deleted.
	cleanEvery = time.Minute
	// endedRetention is how long the number of the last batch is kept of a node that has
	// ended. After that, no batch of it can still arrive a second time.
	endedRetention = 24 * time.Hour
	// killedAfter is how long a node may write nothing to the usage history before it
	// counts as killed. A node without requests writes every half minute.
	killedAfter = 90 * time.Second
)

// Clean deletes everything that has expired, some rows at a time so that other writes do not
// wait for long. It also notes killed nodes, and folds old hours of the usage
// history into days.
func (s *Store) Clean(ctx context.Context) error {
	skip := s.dialect.SkipLocked
	idempotency := `DELETE FROM idempotency_keys WHERE (account_id, key) IN
		(SELECT account_id, key FROM idempotency_keys WHERE created_at <= ? ORDER BY created_at LIMIT ?` + skip + `)`
	daily := `DELETE FROM usage_days WHERE (day, account_id) IN
		(SELECT day, account_id FROM usage_days WHERE day < ? ORDER BY day, account_id LIMIT ?` + skip + `)`
	ended := `DELETE FROM usage_nodes WHERE node IN
		(SELECT node FROM usage_nodes WHERE ended AND seen_at <= ? LIMIT ?` + skip + `)`
	killed := `DELETE FROM usage_nodes WHERE node IN
		(SELECT node FROM usage_nodes WHERE seen_at <= ? LIMIT ?` + skip + `)`
	sessions := `DELETE FROM operator_sessions WHERE hash IN
		(SELECT hash FROM operator_sessions WHERE created_at <= ? LIMIT ?` + skip + `)`
	refusals := `DELETE FROM recent_refusals WHERE (account_id, key_id, operation, code) IN
		(SELECT account_id, key_id, operation, code FROM recent_refusals WHERE last_at <= ? ORDER BY last_at LIMIT ?` + skip + `)`
	now := Now(s.clock)
	for _, expired := range []struct {
		query  string
		before int64
	}{
		{idempotency, now.Add(-petcat.IdempotencyRetention).UnixMilli()},
		{daily, petcat.Day.Index(petcat.UsageByDay.KeptSince(now).Unix())},
		{ended, now.Add(-endedRetention).UnixMilli()},
		{refusals, now.Add(-refusalRetention).UnixMilli()},
		{killed, now.Add(-petcat.UsageDays).UnixMilli()},
		{sessions, now.Add(-petcat.SessionLife).UnixMilli()},
	} {
		if err := s.DeleteAll(ctx, expired.query, expired.before); err != nil {
			return err
		}
	}
	if err := s.NoteKilledNodes(ctx, killedAfter); err != nil {
		return err
	}
	for folded := s.dialect.CleanRows; folded == s.dialect.CleanRows; {
		var err error
		if folded, err = s.foldHours(ctx); err != nil {
			return err
		}
	}
	return nil
}

// DeleteAll repeats a query that deletes some rows until nothing is left. The query's
// parameters are before and how many rows it may delete.
func (s *Store) DeleteAll(ctx context.Context, query string, before int64) error {
	for {
		deleted, err := s.Exec(ctx, "delete what has expired", query, before, s.dialect.CleanRows)
		if err != nil || deleted < int64(s.dialect.CleanRows) {
			return err
		}
	}
}

// RunClean calls clean every minute until ctx ends. It logs errors and goes on: nobody can
// see that expired rows are deleted late.
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
