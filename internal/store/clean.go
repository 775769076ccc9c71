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
	// endedRetention is how long it is known which batches of the usage history a node
	// wrote that has ended: until no repetition of one can be on its way.
	endedRetention = 24 * time.Hour
	// killedAfter is how long a node may be silent before it counts as killed: it writes
	// to the usage history every half minute.
	killedAfter = 90 * time.Second
)

// Clean deletes everything that has expired, in small batches between which other
// writes get their turn, and brings the usage history into hours and days.
func (s *Store) Clean(ctx context.Context) error {
	skip := s.dialect.SkipLocked
	idempotency := `DELETE FROM idempotency WHERE (account_id, key) IN
		(SELECT account_id, key FROM idempotency WHERE created_at <= ? ORDER BY created_at LIMIT ?` + skip + `)`
	days := `DELETE FROM day_count WHERE (day, account_id) IN
		(SELECT day, account_id FROM day_count WHERE day < ? ORDER BY day, account_id LIMIT ?` + skip + `)`
	calls := `DELETE FROM day_call WHERE caller IN
		(SELECT caller FROM day_call WHERE made_at <= ? LIMIT ?` + skip + `)`
	daily := `DELETE FROM usage_day WHERE (day, account_id) IN
		(SELECT day, account_id FROM usage_day WHERE day < ? ORDER BY day, account_id LIMIT ?` + skip + `)`
	ended := `DELETE FROM usage_node WHERE node IN
		(SELECT node FROM usage_node WHERE ended AND until_at <= ? LIMIT ?` + skip + `)`
	killed := `DELETE FROM usage_node WHERE node IN
		(SELECT node FROM usage_node WHERE until_at <= ? LIMIT ?` + skip + `)`
	sessions := `DELETE FROM operator_session WHERE hash IN
		(SELECT hash FROM operator_session WHERE created_at <= ? LIMIT ?` + skip + `)`
	refusals := `DELETE FROM recent_refusal WHERE account_id IN
		(SELECT account_id FROM recent_refusal WHERE last_at <= ? ORDER BY last_at LIMIT ?` + skip + `)`
	now := Now(s.clock)
	forgotten := now.Add(-dayRetention)
	for _, expired := range []struct {
		query  string
		before int64
	}{
		{idempotency, now.Add(-petcat.IdempotencyRetention).UnixMilli()},
		{days, petcat.Day.Index(forgotten.Unix())},
		{calls, forgotten.UnixMilli()},
		{daily, petcat.Day.Index(now.Add(-petcat.UsageDays).Unix())},
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
	return s.FoldUsage(ctx)
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
