package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/petcat-api/petcat"
)

const (
	// recordLostBatches adds a row like a killed node's, which shows a gap, if the database
	// lacks a batch before $2: it was lost by a failover, or by a restore to an earlier time.
	recordLostBatches = `
		INSERT INTO usage_nodes (node, number, seen_at, stopped, killed_at)
		SELECT node || '/' || number, number, seen_at, false, CAST($3 AS bigint) FROM usage_nodes
		WHERE node = $1 AND number + 1 < $2
		ON CONFLICT (node) DO NOTHING`

	// recordBatch does not change a row if the batch was added before.
	recordBatch = `
		INSERT INTO usage_nodes AS n (node, number, seen_at, stopped)
		VALUES ($1, $2, $3, $4)
		ON CONFLICT (node) DO UPDATE SET
			number = excluded.number,
			seen_at = excluded.seen_at,
			stopped = excluded.stopped,
			killed_at = NULL
		WHERE n.number < excluded.number`

	addUsage = `
		INSERT INTO usage AS u (account_id, hour, ` + countColumns + `)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (account_id, hour) DO UPDATE SET
			requests = u.requests + excluded.requests,
			minute_rejected = u.minute_rejected + excluded.minute_rejected,
			day_rejected = u.day_rejected + excluded.day_rejected,
			ban_rejected = u.ban_rejected + excluded.ban_rejected,
			key_rejected = u.key_rejected + excluded.key_rejected,
			failed = u.failed + excluded.failed,
			bytes = u.bytes + excluded.bytes`

	setKeyUse = `
		INSERT INTO key_uses AS u (key_id, used_at)
		VALUES ($1, $2)
		ON CONFLICT (key_id) DO UPDATE SET used_at = excluded.used_at
		WHERE u.used_at < excluded.used_at`

	addRejections = `
		INSERT INTO recent_rejections AS r (` + rejectionColumns + `)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
		ON CONFLICT (account_id, key_id, operation, code) DO UPDATE SET
			count = r.count + excluded.count,
			last_at = excluded.last_at,
			request_id = excluded.request_id,
			status = excluded.status,
			minute_used = excluded.minute_used,
			minute_limit = excluded.minute_limit,
			day_used = excluded.day_used,
			day_limit = excluded.day_limit,
			until_at = excluded.until_at`
)

// AddUsage implements [petcat.UsageStore]. It does not lock the counter row, so creates do not
// wait for it.
func (s *Store) AddUsage(ctx context.Context, b petcat.UsageBatch) (err error) {
	w, err := s.db.BeginWrite(ctx, "add usage")
	if err != nil {
		return err
	}
	defer w.End(&err)
	if err := w.Run(recordLostBatches, b.Node, b.Number, stored(b.SeenAt).UnixMilli()); err != nil {
		return err
	}
	added, err := w.Exec(recordBatch, b.Node, b.Number, stored(b.SeenAt).UnixMilli(), b.Stopped)
	if err != nil {
		return err
	}
	if added == 0 {
		return w.Commit() // the batch may be of a transaction that shares the commit
	}
	// Before usage, because all nodes wait for its row of all accounts.
	if err := insertMany(w, addUsageDetail, detailRows(b.Counts)); err != nil {
		return err
	}
	if err := insertMany(w, addUsage, usageRows(b.Counts)); err != nil {
		return err
	}
	if err := insertMany(w, setKeyUse, keyUseRows(b.Keys)); err != nil {
		return err
	}
	if err := insertMany(w, addRejections, rejectionRows(b.Rejections)); err != nil {
		return err
	}
	return w.Commit()
}

// usageRows returns the arguments of addUsage.
func usageRows(counts []petcat.UsageCount) [][]any {
	rows := make([][]any, len(counts))
	for i, c := range counts {
		rows[i] = []any{
			c.Account,
			c.Hour,
			c.Requests,
			c.MinuteRejected,
			c.DayRejected,
			c.BanRejected,
			c.KeyRejected,
			c.Failed,
			c.Bytes,
		}
	}
	return rows
}

// keyUseRows returns the arguments of setKeyUse.
func keyUseRows(uses []petcat.KeyUse) [][]any {
	rows := make([][]any, len(uses))
	for i, u := range uses {
		rows[i] = []any{u.Key, u.At.Unix()}
	}
	return rows
}

// rejectionRows returns the arguments of addRejections.
func rejectionRows(rejections []petcat.Rejection) [][]any {
	rows := make([][]any, len(rejections))
	for i, r := range rejections {
		rows[i] = []any{
			r.Account,
			r.Key,
			r.Operation,
			r.Code,
			r.Count,
			r.First.UnixMilli(),
			r.Last.UnixMilli(),
			r.RequestID,
			r.Status,
			r.Minute.Used,
			r.Minute.Limit,
			r.Day.Used,
			r.Day.Limit,
			millis(r.Until),
		}
	}
	return rows
}

const markKilledNodes = `
	UPDATE usage_nodes SET killed_at = $1
	WHERE NOT stopped AND killed_at IS NULL AND seen_at <= $2`

// MarkKilledNodes marks nodes as killed that have not written a batch for the duration silence and did
// not stop.
func (s *Store) MarkKilledNodes(ctx context.Context, silence time.Duration) error {
	now := Now(s.clock)
	return s.exec(ctx, "mark killed nodes", markKilledNodes, now.UnixMilli(), now.Add(-silence).UnixMilli())
}

const (
	secondsPerHour = 3600
	hoursPerDay    = 24
)

// selectDayUsed selects the hours from $1 to $2 of the account $3. WITH makes SQLite look up each
// hour, because its primary key begins with the hour; CROSS JOIN sets the order of the tables.
const selectDayUsed = `
	WITH RECURSIVE hours (at) AS (SELECT CAST($1 AS bigint) UNION ALL SELECT at + 1 FROM hours WHERE at < $2)
	SELECT coalesce(sum(u.requests), 0)
	FROM hours AS h CROSS JOIN usage AS u
	WHERE u.hour = h.at AND u.account_id = $3`

// DayUsed implements [petcat.UsageStore].
func (s *Store) DayUsed(ctx context.Context, account petcat.AccountID, day int64) (int64, error) {
	first := day * hoursPerDay
	c := s.reader(ctx, "read a day's usage")
	return queryRow(c, scanNumber, nil, selectDayUsed, first, first+hoursPerDay-1, account)
}

const (
	// countColumns and sumColumns are the counts that countFields reads.
	countColumns = `requests, minute_rejected, day_rejected, ban_rejected, key_rejected, failed, bytes`
	sumColumns   = `
		sum(requests), sum(minute_rejected), sum(day_rejected), sum(ban_rejected), sum(key_rejected),
		sum(failed), sum(bytes)`

	// selectUsage selects the periods of $5 hours of the account $6: of the hours from $1 to
	// $2 and the days from $3 to $4, those from the hour $7 until before the hour $8. Other
	// transactions merge hours into days; a single statement counts each hour once.
	selectUsage = `
		WITH RECURSIVE
			hours (at) AS (SELECT CAST($1 AS bigint) UNION ALL SELECT at + 1 FROM hours WHERE at < $2),
			days (at) AS (SELECT CAST($3 AS bigint) UNION ALL SELECT at + 1 FROM days WHERE at < $4)
		SELECT 3600000 * (counted.hour - counted.hour % $5) AS period, ` + sumColumns + `
		FROM (
			SELECT u.hour, ` + countColumns + `
			FROM hours AS h CROSS JOIN usage AS u
			WHERE u.hour = h.at AND u.account_id = $6
			UNION ALL
			SELECT 24 * u.day, ` + countColumns + `
			FROM days AS d CROSS JOIN usage_days AS u
			WHERE u.day = d.at AND u.account_id = $6
		) AS counted
		WHERE counted.hour >= $7 AND counted.hour < $8
		GROUP BY period ORDER BY period`

	selectGaps = `
		SELECT node, seen_at, killed_at FROM usage_nodes
		WHERE killed_at >= $1 AND seen_at < $2
		ORDER BY seen_at, node`
)

// countFields returns the destinations of countColumns.
func countFields(c *petcat.UsageCounts) []any {
	return []any{
		&c.Requests,
		&c.MinuteRejected,
		&c.DayRejected,
		&c.BanRejected,
		&c.KeyRejected,
		&c.Failed,
		&c.Bytes,
	}
}

func scanPeriod(row Row) (p petcat.UsagePeriod, err error) {
	fields := append([]any{(*moment)(&p.Begin)}, countFields(&p.UsageCounts)...)
	err = row.Scan(fields...)
	return p, err
}

func scanGap(row Row) (g petcat.UsageGap, err error) {
	err = row.Scan(
		&g.Node,
		(*moment)(&g.From),
		(*moment)(&g.Until),
	)
	return g, err
}

// Usage implements [petcat.UsageStore].
func (s *Store) Usage(ctx context.Context, q petcat.UsageQuery) (h petcat.UsageHistory, err error) {
	now := Now(s.clock)
	kept := func(step petcat.UsageStep) int64 { return step.KeptSince(now).Unix() / secondsPerHour }
	length := int64(q.Step.Length() / time.Hour)
	from := max(ceilHours(q.From, length), kept(q.Step))
	to := ceilHours(q.To, length)
	// A node that was disconnected for long may have added to older hours.
	first := max(from, kept(petcat.UsageByHour)-hoursPerDay)
	last := min(to, now.Unix()/secondsPerHour+hoursPerDay)
	c := s.reader(ctx, "read the usage history")
	h.Periods, err = queryRows(c, scanPeriod, selectUsage,
		first,
		last,
		from/hoursPerDay,
		last/hoursPerDay,
		length,
		q.Account,
		from,
		to,
	)
	if err != nil {
		return h, err
	}
	h.Gaps, err = queryRows(c, scanGap, selectGaps, q.From.UnixMilli(), q.To.UnixMilli())
	for i := range h.Periods {
		p := &h.Periods[i]
		p.Incomplete = slices.ContainsFunc(h.Gaps, func(g petcat.UsageGap) bool { return g.Meets(p.Begin, q.Step) })
	}
	return h, err
}

// ceilHours returns the first hour at or after a time in which a period begins.
func ceilHours(t time.Time, length int64) int64 {
	seconds := length * secondsPerHour
	return (t.Unix() + seconds - 1) / seconds * length
}

const (
	// accountUsage is the sums of the hours from $1 until before $2, and of the days from $3 until
	// before $4.
	accountUsage = `
		counted.account_id, a.name, ` + sumColumns + `
		FROM (
			SELECT account_id, ` + countColumns + ` FROM usage WHERE hour >= $1 AND hour < $2
			UNION ALL
			SELECT account_id, ` + countColumns + ` FROM usage_days WHERE day >= $3 AND day < $4
		) AS counted JOIN accounts AS a ON a.id = counted.account_id
		GROUP BY counted.account_id, a.name`

	selectTopByRequests = `SELECT ` + accountUsage + `
		HAVING sum(requests) > 0
		ORDER BY sum(requests) DESC, counted.account_id LIMIT $5`

	selectTopByRejected = `SELECT ` + accountUsage + `
		HAVING sum(minute_rejected + day_rejected + ban_rejected + key_rejected) > 0
		ORDER BY sum(minute_rejected + day_rejected + ban_rejected + key_rejected) DESC, counted.account_id LIMIT $5`
)

func scanAccountUsage(row Row) (u petcat.AccountUsage, err error) {
	fields := append([]any{&u.Account, &u.Name}, countFields(&u.UsageCounts)...)
	err = row.Scan(fields...)
	return u, err
}

// TopAccounts implements [petcat.UsageStore].
func (s *Store) TopAccounts(ctx context.Context, q petcat.TopQuery) ([]petcat.AccountUsage, error) {
	query := selectTopByRequests
	if q.ByRejected {
		query = selectTopByRejected
	}
	return queryRows(s.reader(ctx, "read the largest accounts"), scanAccountUsage, query,
		ceilHours(q.From, 1),
		ceilHours(q.To, 1),
		ceilHours(q.From, hoursPerDay)/hoursPerDay,
		ceilHours(q.To, hoursPerDay)/hoursPerDay,
		q.Limit,
	)
}

const (
	// takeHours deletes at most $2 rows of hours before $1.
	takeHours = `
		DELETE FROM usage WHERE (hour, account_id) IN (
			SELECT hour, account_id FROM usage
			WHERE hour < $1
			LIMIT $2 FOR UPDATE SKIP LOCKED)
		RETURNING account_id, hour, ` + countColumns

	addUsageDay = `
		INSERT INTO usage_days AS u (account_id, day, ` + countColumns + `)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (account_id, day) DO UPDATE SET
			requests = u.requests + excluded.requests,
			minute_rejected = u.minute_rejected + excluded.minute_rejected,
			day_rejected = u.day_rejected + excluded.day_rejected,
			ban_rejected = u.ban_rejected + excluded.ban_rejected,
			key_rejected = u.key_rejected + excluded.key_rejected,
			failed = u.failed + excluded.failed,
			bytes = u.bytes + excluded.bytes`
)

func scanUsageCount(row Row) (c petcat.UsageCount, err error) {
	fields := append([]any{&c.Account, &c.Hour}, countFields(&c.UsageCounts)...)
	err = row.Scan(fields...)
	return c, err
}

// foldHours merges the hours that are older than [petcat.UsageHours] into days, in steps. Several
// nodes may do so concurrently. fold merges some hours before the given one, and returns their number.
func (s *Store) foldHours(ctx context.Context, fold func(ctx context.Context, before int64) (int, error)) error {
	before := petcat.UsageByHour.KeptSince(Now(s.clock)).Unix() / secondsPerHour
	for {
		folded, err := fold(ctx, before)
		if err != nil || folded < s.dialect.CleanRows {
			return err
		}
	}
}

// foldSomeHours merges some hours before the given one into days, and returns their number.
func (s *Store) foldSomeHours(ctx context.Context, before int64) (_ int, err error) {
	w, err := s.db.BeginWrite(ctx, "merge old hours of usage")
	if err != nil {
		return 0, err
	}
	defer w.End(&err)
	counts, err := queryRows(w, scanUsageCount, s.dialect.Text(takeHours), before, s.dialect.CleanRows)
	if err != nil {
		return 0, err
	}
	for i := range counts {
		counts[i].Hour /= hoursPerDay // from here on, the day
	}
	// Sorted, so that two nodes cannot deadlock.
	slices.SortFunc(counts, func(a, b petcat.UsageCount) int {
		return cmp.Or(cmp.Compare(a.Hour, b.Hour), cmp.Compare(a.Account, b.Account))
	})
	// Not insertMany: PostgreSQL cannot update a row twice in one statement.
	for _, row := range usageRows(counts) {
		if err := w.Run(addUsageDay, row...); err != nil {
			return 0, err
		}
	}
	return len(counts), w.Commit()
}

const (
	// rejectionColumns are the columns that scanRejection reads.
	rejectionColumns = `
		account_id, key_id, operation, code, count, first_at, last_at,
		request_id, status, minute_used, minute_limit, day_used, day_limit, until_at`

	selectRejections = `
		SELECT ` + rejectionColumns + ` FROM recent_rejections
		WHERE account_id = $1
		ORDER BY last_at DESC, key_id, operation, code LIMIT $2`

	selectRejectionByRequest = `
		SELECT ` + rejectionColumns + ` FROM recent_rejections
		WHERE request_id = $1
		ORDER BY last_at DESC LIMIT 1`
)

func scanRejection(row Row) (r petcat.Rejection, err error) {
	err = row.Scan(
		&r.Account,
		&r.Key,
		&r.Operation,
		&r.Code,
		&r.Count,
		(*moment)(&r.First),
		(*moment)(&r.Last),
		&r.RequestID,
		&r.Status,
		&r.Minute.Used,
		&r.Minute.Limit,
		&r.Day.Used,
		&r.Day.Limit,
		(*moment)(&r.Until),
	)
	return r, err
}

// Rejections implements [petcat.UsageStore].
func (s *Store) Rejections(ctx context.Context, account petcat.AccountID) ([]petcat.Rejection, error) {
	c := s.reader(ctx, "read recent rejections")
	return queryRows(c, scanRejection, selectRejections, account, petcat.RecentRejections)
}

// FindRejection implements [petcat.UsageStore].
func (s *Store) FindRejection(ctx context.Context, requestID string) (petcat.Rejection, error) {
	missing := notFound("no recent rejection or failure has this X-Request-Id")
	return queryRow(s.reader(ctx, "find a rejection"), scanRejection, missing, selectRejectionByRequest, requestID)
}
