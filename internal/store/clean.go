package store

import (
	"context"
	"time"

	"petcat"
)

const (
	// endedRetention is the retention of the last batch number of a stopped node. After that
	// time, no duplicate of a batch can arrive.
	endedRetention = 24 * time.Hour
	// killedAfter is the time without a batch after which a node counts as killed. A node
	// without requests writes an empty batch every half minute.
	killedAfter = 90 * time.Second
)

// Clean deletes all expired rows, in small statements so that other writes do not wait for long.
// It also marks killed nodes, and merges old hours of the usage history into days.
func (s *Store) Clean(ctx context.Context) error {
	now := Now(s.clock)
	for _, expired := range []struct {
		table, key, condition string
		before                int64
	}{
		{"idempotency_keys", "account_id, key", "created_at <= (SELECT " + s.dialect.Now + ") - ? ORDER BY created_at", petcat.IdempotencyRetention.Milliseconds()},
		{"usage_days", "day, account_id", "day < ? ORDER BY day, account_id", petcat.Day.Index(petcat.UsageByDay.KeptSince(now).Unix())},
		{"usage_nodes", "node", "ended AND seen_at <= ?", now.Add(-endedRetention).UnixMilli()},
		{"usage_nodes", "node", "seen_at <= ?", now.Add(-petcat.UsageDays).UnixMilli()},
		{"recent_refusals", "account_id, key_id, operation, code", "last_at <= ? ORDER BY last_at", now.Add(-refusalRetention).UnixMilli()},
		{"sessions", "hash", "seen_at <= ?", now.Add(-petcat.CustomerIdle).UnixMilli()}, // the longest idle time
		{"sign_in_links", "hash", "ends_at <= ?", now.UnixMilli()},
	} {
		query := `DELETE FROM ` + expired.table + ` WHERE (` + expired.key + `) IN (SELECT ` + expired.key + ` FROM ` + expired.table +
			` WHERE ` + expired.condition + ` LIMIT ?` + s.dialect.SkipLocked + `)`
		err := s.inParts(func() (int64, error) {
			return s.Exec(ctx, "delete expired rows", query, expired.before, s.dialect.CleanRows)
		})
		if err != nil {
			return err
		}
	}
	if err := s.MarkKilledNodes(ctx, killedAfter); err != nil {
		return err
	}
	return s.inParts(func() (int64, error) { return s.foldHours(ctx) })
}

// inParts repeats step, which changes at most CleanRows rows, until it changes fewer.
func (s *Store) inParts(step func() (rows int64, err error)) error {
	for {
		rows, err := step()
		if err != nil || rows < int64(s.dialect.CleanRows) {
			return err
		}
	}
}
