package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"petcat"
)

const (
	usageColumns = `requests, minute_refused, day_refused, ban_refused, key_refused, failed, bytes`
	sums         = `sum(requests), sum(minute_refused), sum(day_refused), sum(ban_refused), sum(key_refused), sum(failed), sum(bytes)`
)

// addUsage adds counts to the rows of a table, or inserts the rows. The values of the key come
// first in each row. A statement has at most size rows.
func addUsage(c Conn, size int, table, key string, rows [][]any) error {
	return execRows(c, size, insertInto(table+` AS u`, key+", "+usageColumns), onConflict(key, usageColumns, `$ = u.$ + excluded.$`), rows)
}

func countInto(c *petcat.UsageCount) []any {
	return append([]any{(*int64)(&c.Account), &c.Hour}, countsInto(&c.UsageCounts)...)
}

func countsInto(c *petcat.UsageCounts) []any {
	return []any{&c.Requests, &c.MinuteRefused, &c.DayRefused, &c.BanRefused, &c.KeyRefused, &c.Failed, &c.Bytes}
}

// AddUsage implements [petcat.UsageStore]. It does not lock the counter row, so creates do not
// wait for it.
func (s *Store) AddUsage(ctx context.Context, b petcat.UsageBatch) error {
	const (
		number = `INSERT INTO usage_nodes AS n (node, number, seen_at, ended) VALUES (?, ?, ?, ?) ON CONFLICT (node) DO UPDATE
			SET number = excluded.number, seen_at = excluded.seen_at, ended = excluded.ended, killed_at = NULL WHERE n.number < excluded.number`
		later = `$ = CASE WHEN u.$ > excluded.$ THEN u.$ ELSE excluded.$ END`
	)
	_, err := write(ctx, s, "add usage", func(c Conn) (int, error) {
		return 0, func() error {
			added, err := c.Exec(number, b.Node, b.Number, stored(b.SeenAt).UnixMilli(), b.Ended)
			if err != nil || added == 0 {
				return err
			}
			if err := addUsage(c, RowsInStatement, "usage", "account_id, hour", rowsOf(b.Counts, countInto)); err != nil {
				return err
			}
			uses := rowsOf(b.Keys, func(k *petcat.KeyUse) []any { return []any{(*int64)(&k.Key), k.At.Unix()} })
			if err := execRows(c, RowsInStatement, insertInto("key_uses AS u", "key_id, used_at"), onConflict("key_id", "used_at", later), uses); err != nil {
				return err
			}
			return execRows(c, RowsInStatement, insertInto("recent_refusals AS r", refusalColumns),
				onConflict(refusalKey, lastRefusal, replaced)+`, count = r.count + excluded.count`, rowsOf(b.Refusals, refusalInto))
		}()
	})
	return err
}

// MarkKilledNodes marks nodes as killed that wrote no batch for the duration silence and did not
// stop.
func (s *Store) MarkKilledNodes(ctx context.Context, silence time.Duration) error {
	const note = `UPDATE usage_nodes SET killed_at = ? WHERE NOT ended AND killed_at IS NULL AND seen_at <= ?`
	now := Now(s.clock)
	return s.exec(ctx, "mark killed nodes", note, now.UnixMilli(), now.Add(-silence).UnixMilli())
}

const (
	secondsPerHour = 3600
	hoursPerDay    = 24
	// askedHours makes SQLite look up each hour, because its primary key begins with the hour.
	// The CROSS JOIN sets the order of the tables.
	askedHours = `WITH RECURSIVE hours (at) AS (SELECT CAST(? AS bigint) UNION ALL SELECT at + 1 FROM hours WHERE at < ?)`
	fromHours  = ` FROM hours AS h CROSS JOIN usage AS u WHERE u.hour = h.at AND u.account_id = ?`
)

// DayUsed implements [petcat.UsageStore].
func (s *Store) DayUsed(ctx context.Context, account petcat.AccountID, day int64) (int64, error) {
	const query = askedHours + ` SELECT coalesce(sum(u.requests), 0)` + fromHours
	return read(ctx, s, "read a day's usage", func(c Conn) (int64, error) {
		return one(c, oneColumn[int64], nil, query, day*hoursPerDay, day*hoursPerDay+hoursPerDay-1, int64(account))
	})
}

// Usage implements [petcat.UsageStore].
func (s *Store) Usage(ctx context.Context, q petcat.UsageQuery) (petcat.UsageHistory, error) {
	// Other transactions merge hours into days. A single statement counts each hour once.
	const (
		query = askedHours + `, days (at) AS (SELECT CAST(? AS bigint) UNION ALL SELECT at + 1 FROM days WHERE at < ?)
			SELECT 3600000 * (u.hour - u.hour % ?) AS period, ` + sums + ` FROM (
				SELECT u.hour, ` + usageColumns + fromHours + `
				UNION ALL SELECT 24 * u.day, ` + usageColumns + ` FROM days AS d CROSS JOIN usage_days AS u WHERE u.day = d.at AND u.account_id = ?) AS u
			WHERE u.hour >= ? AND u.hour < ? GROUP BY period ORDER BY period`
		gaps = `SELECT node, seen_at, killed_at FROM usage_nodes WHERE killed_at >= ? AND seen_at < ? ORDER BY seen_at, node`
	)
	now, account := Now(s.clock), int64(q.Account)
	kept := func(step petcat.UsageStep) int64 { return step.KeptSince(now).Unix() / secondsPerHour }
	length := int64(q.Step.Length() / time.Hour)
	from, to := max(ceilHours(q.From, length), kept(q.Step)), ceilHours(q.To, length) // the first hour, and the hour after the last
	last := min(to, now.Unix()/secondsPerHour+hoursPerDay)
	// A node that was disconnected for long may have added to older hours.
	first := max(from, kept(petcat.UsageByHour)-hoursPerDay)
	return read(ctx, s, "read the usage history", func(c Conn) (h petcat.UsageHistory, err error) {
		h.Periods, err = all(c, func(p *petcat.UsagePeriod) []any {
			return append([]any{(*moment)(&p.Begin)}, countsInto(&p.UsageCounts)...)
		}, query, first, last, from/hoursPerDay, last/hoursPerDay, length, account, account, from, to)
		if err != nil {
			return h, err
		}
		h.Gaps, err = all(c, func(g *petcat.UsageGap) []any {
			return []any{&g.Node, (*moment)(&g.From), (*moment)(&g.Until)}
		}, gaps, q.From.UnixMilli(), q.To.UnixMilli())
		for i, p := range h.Periods {
			h.Periods[i].Incomplete = slices.ContainsFunc(h.Gaps, func(g petcat.UsageGap) bool { return g.Meets(p.Begin, q.Step) })
		}
		return h, err
	})
}

// ceilHours returns the first hour at or after a time in which a period begins.
func ceilHours(t time.Time, length int64) int64 {
	seconds := length * secondsPerHour
	return (t.Unix() + seconds - 1) / seconds * length
}

// TopAccounts implements [petcat.UsageStore].
func (s *Store) TopAccounts(ctx context.Context, q petcat.TopQuery) ([]petcat.AccountUsage, error) {
	by := `sum(requests)`
	if q.ByRefused {
		by = `sum(minute_refused + day_refused + ban_refused + key_refused)`
	}
	query := `SELECT u.account_id, a.name, ` + sums + ` FROM (
			SELECT account_id, ` + usageColumns + ` FROM usage WHERE hour >= ? AND hour < ?
			UNION ALL SELECT account_id, ` + usageColumns + ` FROM usage_days WHERE day >= ? AND day < ?) AS u
		JOIN accounts AS a ON a.id = u.account_id GROUP BY u.account_id, a.name HAVING ` + by + ` > 0
		ORDER BY ` + by + ` DESC, u.account_id LIMIT ?`
	return list(ctx, s, "read the largest accounts", func(u *petcat.AccountUsage) []any {
		return append([]any{(*int64)(&u.Account), &u.Name}, countsInto(&u.UsageCounts)...)
	}, query, ceilHours(q.From, 1), ceilHours(q.To, 1), ceilHours(q.From, hoursPerDay)/hoursPerDay, ceilHours(q.To, hoursPerDay)/hoursPerDay, q.Limit)
}

// foldHours merges some hours that are older than [petcat.UsageHours] into days, and returns
// their number. Several nodes may do so concurrently.
func (s *Store) foldHours(ctx context.Context) (int64, error) {
	take := `DELETE FROM usage WHERE (hour, account_id) IN (SELECT hour, account_id FROM usage WHERE hour < ? LIMIT ?` + s.dialect.SkipLocked + `)
		RETURNING account_id, hour, ` + usageColumns
	before := petcat.UsageByHour.KeptSince(Now(s.clock)).Unix() / secondsPerHour
	return write(ctx, s, "merge old hours of usage", func(c Conn) (int64, error) {
		counts, err := all(c, countInto, take, before, s.dialect.CleanRows)
		if err != nil {
			return 0, err
		}
		for i := range counts {
			counts[i].Hour /= hoursPerDay
		}
		// Sorted, so that two nodes cannot deadlock.
		slices.SortFunc(counts, func(a, b petcat.UsageCount) int {
			return cmp.Or(cmp.Compare(a.Hour, b.Hour), cmp.Compare(a.Account, b.Account))
		})
		// PostgreSQL cannot update a row twice in one statement.
		return int64(len(counts)), addUsage(c, 1, "usage_days", "account_id, day", rowsOf(counts, countInto))
	})
}

// refusalRetention is the retention of a group of rejections after its last one.
const refusalRetention = 30 * 24 * time.Hour

const (
	refusalKey     = `account_id, key_id, operation, code`
	lastRefusal    = `last_at, request_id, status, minute_used, minute_limit, day_used, day_limit, until_at`
	refusalColumns = refusalKey + `, count, first_at, ` + lastRefusal
)

func refusalInto(r *petcat.Refusal) []any {
	return []any{
		(*int64)(&r.Account), (*int64)(&r.Key), (*string)(&r.Operation), (*string)(&r.Code), &r.Count, (*moment)(&r.First), (*moment)(&r.Last), &r.RequestID, &r.Status,
		&r.Minute.Used, &r.Minute.Limit, &r.Day.Used, &r.Day.Limit, (*moment)(&r.Until),
	}
}

// Refusals implements [petcat.UsageStore].
func (s *Store) Refusals(ctx context.Context, account petcat.AccountID) ([]petcat.Refusal, error) {
	const query = `SELECT ` + refusalColumns + ` FROM recent_refusals WHERE account_id = ? ORDER BY last_at DESC, key_id, operation, code LIMIT ?`
	return list(ctx, s, "read recent refusals", refusalInto, query, int64(account), petcat.RecentRefusals)
}

// FindRefusal implements [petcat.UsageStore].
func (s *Store) FindRefusal(ctx context.Context, requestID string) (petcat.Refusal, error) {
	const query = `SELECT ` + refusalColumns + ` FROM recent_refusals WHERE request_id = ? ORDER BY last_at DESC LIMIT 1`
	return read(ctx, s, "find a rejection", func(c Conn) (petcat.Refusal, error) {
		return one(c, refusalInto, notFound("no recent refusal or failure has this X-Request-Id"), query, requestID)
	})
}
