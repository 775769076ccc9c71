package store

import (
	"context"
	"time"

	"github.com/petcat-api/petcat"
)

const (
	// stoppedRetention is the retention of the last batch number of a stopped node. After that
	// time, no duplicate of a batch can arrive.
	stoppedRetention = 24 * time.Hour
	// rejectionRetention is the retention of a group of rejections after its last one.
	rejectionRetention = 30 * 24 * time.Hour
	// killedAfter is the time without a batch after which a node counts as killed. A node
	// without requests writes an empty batch every half minute.
	killedAfter = 90 * time.Second
)

// Each statement deletes at most $2 rows, so that other writes do not wait for long. SQLite gets it
// without SKIP LOCKED, see [Dialect.Text].
const (
	// deleteExpiredIdempotencyKeys has the age $1, because the database's clock wrote created_at.
	// SELECT makes PostgreSQL read the clock once, and use the index.
	deleteExpiredIdempotencyKeys = `
		DELETE FROM idempotency_keys WHERE (account_id, key) IN (
			SELECT account_id, key FROM idempotency_keys
			WHERE created_at <= (SELECT CAST(unixepoch('subsec') * 1000 AS bigint)) - $1
			ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)`

	deleteExpiredUsageDays = `
		DELETE FROM usage_days WHERE (day, account_id) IN (
			SELECT day, account_id FROM usage_days
			WHERE day < $1
			ORDER BY day, account_id LIMIT $2 FOR UPDATE SKIP LOCKED)`

	deleteExpiredUsageDetail = `
		DELETE FROM usage_by_key WHERE (hour, account_id, key_id, operation) IN (
			SELECT hour, account_id, key_id, operation FROM usage_by_key
			WHERE hour < $1
			LIMIT $2 FOR UPDATE SKIP LOCKED)`

	deleteStoppedUsageNodes = `
		DELETE FROM usage_nodes WHERE node IN (
			SELECT node FROM usage_nodes
			WHERE stopped AND seen_at <= $1
			LIMIT $2 FOR UPDATE SKIP LOCKED)`

	deleteExpiredUsageNodes = `
		DELETE FROM usage_nodes WHERE node IN (
			SELECT node FROM usage_nodes
			WHERE seen_at <= $1
			LIMIT $2 FOR UPDATE SKIP LOCKED)`

	deleteExpiredRejections = `
		DELETE FROM recent_rejections WHERE (account_id, key_id, operation, code) IN (
			SELECT account_id, key_id, operation, code FROM recent_rejections
			WHERE last_at <= $1
			ORDER BY last_at LIMIT $2 FOR UPDATE SKIP LOCKED)`

	deleteExpiredSessions = `
		DELETE FROM sessions WHERE hash IN (
			SELECT hash FROM sessions
			WHERE seen_at <= $1
			LIMIT $2 FOR UPDATE SKIP LOCKED)`

	deleteExpiredLinks = `
		DELETE FROM sign_in_links WHERE hash IN (
			SELECT hash FROM sign_in_links
			WHERE expires_at <= $1
			LIMIT $2 FOR UPDATE SKIP LOCKED)`

	deleteOldEvents = `
		DELETE FROM events WHERE id IN (
			SELECT id FROM events
			WHERE at <= $1
			ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED)`

	deleteExpiredBans = `
		DELETE FROM bans WHERE key_id IN (
			SELECT key_id FROM bans
			WHERE ends_at <= $1
			LIMIT $2 FOR UPDATE SKIP LOCKED)`
)

// Clean deletes all expired rows, marks killed nodes, and merges old hours of the usage history into
// days.
func (s *Store) Clean(ctx context.Context) error {
	now := Now(s.clock)
	for _, expired := range []struct {
		query  string
		before int64
	}{
		{deleteExpiredIdempotencyKeys, petcat.IdempotencyRetention.Milliseconds()},
		{deleteExpiredUsageDays, petcat.Day.Index(petcat.UsageByDay.KeptSince(now).Unix())},
		{deleteExpiredUsageDetail, petcat.UsageDetailKeptSince(now).Unix() / secondsPerHour},
		{deleteStoppedUsageNodes, now.Add(-stoppedRetention).UnixMilli()},
		{deleteExpiredUsageNodes, now.Add(-petcat.UsageDays).UnixMilli()},
		{deleteExpiredRejections, now.Add(-rejectionRetention).UnixMilli()},
		{deleteExpiredSessions, now.Add(-petcat.CustomerIdle).UnixMilli()}, // the longest idle time
		{deleteExpiredLinks, now.UnixMilli()},
		{deleteExpiredBans, now.Add(-petcat.BanRetention).UnixMilli()},
		{deleteOldEvents, now.Add(-petcat.EventRetention).UnixMilli()},
	} {
		if err := s.deleteExpired(ctx, expired.query, expired.before); err != nil {
			return err
		}
	}
	if err := s.removeOldDeletions(ctx, now.Add(-petcat.DeletionRetention)); err != nil {
		return err
	}
	if err := s.MarkKilledNodes(ctx, killedAfter); err != nil {
		return err
	}
	if err := s.foldHours(ctx, s.foldSomeHours); err != nil {
		return err
	}
	return s.foldHours(ctx, s.foldSomeDetail)
}

// deleteExpired repeats a statement until it deletes fewer rows than it may.
func (s *Store) deleteExpired(ctx context.Context, query string, before int64) error {
	for {
		deleted, err := s.Exec(ctx, "delete expired rows", s.dialect.Text(query), before, s.dialect.CleanRows)
		if err != nil || deleted < int64(s.dialect.CleanRows) {
			return err
		}
	}
}
