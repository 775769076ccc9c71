package store

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"petcat"
)

const (
	usageColumns = `requests, minute_refused, day_refused, ban_refused, key_refused, failed, bytes`
	addCounts    = ` DO UPDATE SET requests = u.requests + excluded.requests, minute_refused = u.minute_refused + excluded.minute_refused,
		day_refused = u.day_refused + excluded.day_refused, ban_refused = u.ban_refused + excluded.ban_refused,
		key_refused = u.key_refused + excluded.key_refused, failed = u.failed + excluded.failed, bytes = u.bytes + excluded.bytes`
)

// usageFields returns pointers to the counts, in the order of usageColumns.
func usageFields(c *petcat.UsageCounts) []any {
	return []any{&c.Requests, &c.MinuteRefused, &c.DayRefused, &c.BanRefused, &c.KeyRefused, &c.Failed, &c.Bytes}
}

// usageRow returns a row of a table of counts: what identifies it, and the counts.
func usageRow(c petcat.UsageCounts, id ...any) []any {
	return append(id, c.Requests, c.MinuteRefused, c.DayRefused, c.BanRefused, c.KeyRefused, c.Failed, c.Bytes)
}

// AddUsage implements [petcat.UsageStore]. It does not hold the counter's row, which
// creates on several nodes wait for.
func (s *Store) AddUsage(ctx context.Context, b petcat.UsageBatch) error {
	const (
		number = `INSERT INTO usage_nodes AS n (node, number, seen_at, ended) VALUES (?, ?, ?, ?) ON CONFLICT (node) DO UPDATE
			SET number = excluded.number, seen_at = excluded.seen_at, ended = excluded.ended, killed_at = NULL WHERE n.number < excluded.number`
		count = `INSERT INTO usage AS u (account_id, hour, ` + usageColumns + `) VALUES`
		use   = `INSERT INTO key_uses AS u (key_id, used_at) VALUES`
		later = ` ON CONFLICT (key_id) DO UPDATE SET used_at = CASE WHEN u.used_at > excluded.used_at THEN u.used_at ELSE excluded.used_at END`
	)
	return s.db.Write(ctx, "add to the usage history", func(c Conn) error {
		added, err := c.Exec(number, b.Node, b.Number, stored(b.SeenAt).UnixMilli(), b.Ended)
		if err != nil || added == 0 {
			return err
		}
		var counts, uses [][]any
		for _, u := range b.Counts {
			counts = append(counts, usageRow(u.UsageCounts, int64(u.Account), u.Hour))
		}
		for _, k := range b.Keys {
			uses = append(uses, []any{int64(k.Key), k.At.Unix()})
		}
		if err := execRows(c, count, ` ON CONFLICT (account_id, hour)`+addCounts, counts); err != nil {
			return err
		}
		if err := execRows(c, use, later, uses); err != nil {
			return err
		}
		return addRefusals(c, b.Refusals)
	})
}

// rowsInStatement is how many rows execRows writes with one statement. With more, neither
// database is faster.
const rowsInStatement = 64

// execRows writes rows in their order, by a statement that begins and ends as given.
func execRows(c Conn, begin, end string, rows [][]any) error {
	if len(rows) == 0 {
		return nil
	}
	row := ` (?` + strings.Repeat(`, ?`, len(rows[0])-1) + `)`
	var full [][]any
	for len(rows) >= rowsInStatement {
		full = append(full, slices.Concat(rows[:rowsInStatement]...))
		rows = rows[rowsInStatement:]
	}
	if err := c.ExecEach(begin+row+strings.Repeat(`,`+row, rowsInStatement-1)+end, full); err != nil {
		return err
	}
	return c.ExecEach(begin+row+end, rows)
}

// NoteKilledNodes marks nodes as killed that have not ended, and that have written nothing
// to the usage history for the duration silence.
func (s *Store) NoteKilledNodes(ctx context.Context, silence time.Duration) error {
	const note = `UPDATE usage_nodes SET killed_at = ? WHERE NOT ended AND killed_at IS NULL AND seen_at <= ?`
	now := Now(s.clock)
	return s.db.Write(ctx, "look for nodes that were killed", func(c Conn) error {
		_, err := c.Exec(note, now.UnixMilli(), now.Add(-silence).UnixMilli())
		return err
	})
}

const (
	secondsPerHour = 3600
	hoursPerDay    = 24
	// askedHours looks up each hour by itself: the primary key of SQLite begins with the
	// hour. The CROSS JOIN makes SQLite read the tables in that order.
	askedHours = `WITH RECURSIVE hours (at) AS (SELECT CAST(? AS bigint) UNION ALL SELECT at + 1 FROM hours WHERE at < ?)`
	fromHours  = ` FROM hours AS h CROSS JOIN usage AS u WHERE u.hour = h.at AND u.account_id = ?`
)

// DayUsed implements [petcat.UsageStore].
func (s *Store) DayUsed(ctx context.Context, account petcat.AccountID, day int64) (int64, error) {
	const query = askedHours + ` SELECT CAST(coalesce(sum(u.requests), 0) AS bigint)` + fromHours
	used, _, err := find(ctx, s, "read a day's usage", oneColumn[int64], query, day*hoursPerDay, day*hoursPerDay+hoursPerDay-1, int64(account))
	return used, err
}

// Usage implements [petcat.UsageStore].
func (s *Store) Usage(ctx context.Context, q petcat.UsageQuery) (petcat.UsageHistory, error) {
	length := int64(q.Step.Length() / time.Hour)
	from, to := ceilHours(q.From, length), ceilHours(q.To, length) // the first hour, and the one after the last
	query, args := usageQuery(q, from, to, Now(s.clock))
	var h petcat.UsageHistory
	periods := make(map[int64]petcat.UsageCounts) // by their first hour
	err := s.db.Read(ctx, "read the usage history", func(c Conn) error {
		clear(periods)
		err := c.Query(func(scan Scan) error {
			var hour int64
			var counts petcat.UsageCounts
			err := scan(append([]any{&hour}, usageFields(&counts)...)...)
			if from <= hour && hour < to {
				counts.Add(periods[hour/length*length])
				periods[hour/length*length] = counts
			}
			return err
		}, query, args...)
		if err != nil {
			return err
		}
		h.Gaps, err = usageGaps(c, q)
		return err
	})
	if err != nil {
		return petcat.UsageHistory{}, err
	}
	for _, hour := range slices.Sorted(maps.Keys(periods)) {
		p := petcat.UsagePeriod{Begin: time.Unix(hour*secondsPerHour, 0).UTC(), UsageCounts: periods[hour]}
		p.Incomplete = slices.ContainsFunc(h.Gaps, func(g petcat.UsageGap) bool { return g.Meets(p.Begin, q.Step) })
		h.Periods = append(h.Periods, p)
	}
	return h, nil
}

// ceilHours returns the first hour, at a moment or later, in which a period begins.
func ceilHours(t time.Time, length int64) int64 {
	seconds := length * secondsPerHour
	return (t.Unix() + seconds - 1) / seconds * length
}

// usageQuery returns the statement that reads an account's counts from the hours asked, and
// its arguments. Other transactions move hours into days: one statement sees each count once.
func usageQuery(q petcat.UsageQuery, from, to int64, now time.Time) (query string, args []any) {
	const (
		hours = ` SELECT u.hour, ` + usageColumns + fromHours
		both  = askedHours + `, days (at) AS (SELECT CAST(? AS bigint) UNION ALL SELECT at + 1 FROM days WHERE at < ?)` + hours +
			` UNION ALL SELECT 24 * u.day, ` + usageColumns + ` FROM days AS d CROSS JOIN usage_days AS u WHERE u.day = d.at AND u.account_id = ?`
	)
	kept := func(step petcat.UsageStep) int64 { return step.KeptSince(now).Unix() / secondsPerHour }
	last := min(to, now.Unix()/secondsPerHour+hoursPerDay)
	account := int64(q.Account)
	// A node that was away for long may still have added to older hours.
	if q.Step == petcat.UsageByHour {
		return askedHours + hours, []any{max(from, kept(petcat.UsageByHour)-hoursPerDay), last, account}
	}
	return both, []any{
		max(from, kept(petcat.UsageByHour)-hoursPerDay), last,
		max(from, kept(petcat.UsageByDay)) / hoursPerDay, last / hoursPerDay, account, account,
	}
}

func usageGaps(c Conn, q petcat.UsageQuery) ([]petcat.UsageGap, error) {
	const query = `SELECT node, seen_at, killed_at FROM usage_nodes WHERE killed_at >= ? AND seen_at < ? ORDER BY seen_at, node`
	return all(c, func(g *petcat.UsageGap) []any {
		return []any{&g.Node, (*moment)(&g.From), (*moment)(&g.Until)}
	}, query, q.From.UnixMilli(), q.To.UnixMilli())
}

// foldHours moves some hours that are older than [petcat.UsageHours] into days, and returns
// how many. Any node may do it, and several at once.
func (s *Store) foldHours(ctx context.Context) (folded int, err error) {
	take := `DELETE FROM usage WHERE (hour, account_id) IN (SELECT hour, account_id FROM usage WHERE hour < ? LIMIT ?` + s.dialect.SkipLocked + `)
		RETURNING hour, account_id, ` + usageColumns
	const add = `INSERT INTO usage_days AS u (day, account_id, ` + usageColumns + `) VALUES`
	before := petcat.UsageByHour.KeptSince(Now(s.clock)).Unix() / secondsPerHour
	err = s.db.Write(ctx, "fold old hours of the usage history", func(c Conn) error {
		type day struct{ day, account int64 }
		days, taken := make(map[day]petcat.UsageCounts), 0
		err := c.Query(func(scan Scan) error {
			taken++
			var d day
			var counts petcat.UsageCounts
			err := scan(append([]any{&d.day, &d.account}, usageFields(&counts)...)...)
			d.day /= hoursPerDay
			counts.Add(days[d])
			days[d] = counts
			return err
		}, take, before, s.dialect.CleanRows)
		if err != nil {
			return err
		}
		var rows [][]any
		for _, d := range slices.SortedFunc(maps.Keys(days), func(a, b day) int { return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(a.account, b.account)) }) {
			rows = append(rows, usageRow(days[d], d.day, d.account))
		}
		folded = taken
		return execRows(c, add, ` ON CONFLICT (day, account_id)`+addCounts, rows)
	})
	if err != nil {
		return 0, err // the transaction may still run, and write to folded
	}
	return folded, nil
}

// KeyUses implements [petcat.UsageStore].
func (s *Store) KeyUses(ctx context.Context, account petcat.AccountID) (map[petcat.KeyID]time.Time, error) {
	query, args := `SELECT key_id, used_at FROM key_uses`, []any(nil)
	if account != petcat.AllAccounts {
		query, args = query+` WHERE key_id IN (SELECT id FROM api_keys WHERE account_id = ?)`, []any{int64(account)}
	}
	used := make(map[petcat.KeyID]time.Time)
	err := s.db.Each(ctx, "read when keys were used", func(scan Scan) error {
		var key, at int64
		err := scan(&key, &at)
		used[petcat.KeyID(key)] = time.Unix(at, 0).UTC()
		return err
	}, query, args...)
	if err != nil {
		return nil, err
	}
	return used, nil
}

// refusalRetention is how long refusals are kept after the last one of their group.
const refusalRetention = 30 * 24 * time.Hour

const refusalColumns = `account_id, key_id, operation, code, count, first_at, last_at, request_id, status, minute_used, minute_limit, day_used, day_limit, until_at`

func addRefusals(c Conn, refusals []petcat.Refusal) error {
	const (
		add   = `INSERT INTO recent_refusals AS r (` + refusalColumns + `) VALUES`
		again = ` ON CONFLICT (account_id, key_id, operation, code) DO UPDATE SET count = r.count + excluded.count, last_at = excluded.last_at,
			request_id = excluded.request_id, status = excluded.status, minute_used = excluded.minute_used, minute_limit = excluded.minute_limit,
			day_used = excluded.day_used, day_limit = excluded.day_limit, until_at = excluded.until_at`
	)
	var rows [][]any
	for _, r := range refusals {
		rows = append(rows, []any{
			int64(r.Account), int64(r.Key), string(r.Operation), string(r.Code), r.Count, r.First.UnixMilli(), r.Last.UnixMilli(), r.RequestID, int64(r.Status),
			r.Minute.Used, r.Minute.Limit, r.Day.Used, r.Day.Limit, millis(r.Until),
		})
	}
	return execRows(c, add, again, rows)
}

// Refusals implements [petcat.UsageStore].
func (s *Store) Refusals(ctx context.Context, account petcat.AccountID) ([]petcat.Refusal, error) {
	const query = `SELECT ` + refusalColumns + ` FROM recent_refusals WHERE account_id = ? ORDER BY last_at DESC, key_id, operation, code LIMIT ?`
	return list(ctx, s, "read recent refusals", func(r *petcat.Refusal) []any {
		return []any{
			(*int64)(&r.Account), (*int64)(&r.Key), (*string)(&r.Operation), (*string)(&r.Code), &r.Count, (*moment)(&r.First), (*moment)(&r.Last), &r.RequestID, &r.Status,
			&r.Minute.Used, &r.Minute.Limit, &r.Day.Used, &r.Day.Limit, (*moment)(&r.Until),
		}
	}, query, int64(account), petcat.RecentRefusals)
}
