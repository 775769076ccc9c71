package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/petcat-api/petcat"
)

const (
	addUsageDetail = `
		INSERT INTO usage_by_key AS u (account_id, hour, key_id, operation, requests, rejected, failed)
		VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (account_id, hour, key_id, operation) DO UPDATE SET
			requests = u.requests + excluded.requests,
			rejected = u.rejected + excluded.rejected,
			failed = u.failed + excluded.failed`

	// takeDetailHours deletes at most $2 rows of hours from $3 until before $1, except rows of days.
	takeDetailHours = `
		DELETE FROM usage_by_key WHERE (hour, account_id, key_id, operation) IN (
			SELECT hour, account_id, key_id, operation FROM usage_by_key
			WHERE hour < $1 AND hour >= $3 AND hour % 24 <> 0
			LIMIT $2 FOR UPDATE SKIP LOCKED)
		RETURNING account_id, hour, key_id, operation, requests, rejected, failed`

	// selectUsageByKey selects the periods of $3 hours of the account $4, of the hours from $1 to
	// $2. WITH makes SQLite look up each hour, because its primary key begins with the hour.
	selectUsageByKey = `
		WITH RECURSIVE hours (at) AS (SELECT CAST($1 AS bigint) UNION ALL SELECT at + 1 FROM hours WHERE at < $2)
		SELECT 3600000 * (u.hour - u.hour % $3) AS period, u.key_id, '', sum(requests), sum(rejected), sum(failed)
		FROM hours AS h CROSS JOIN usage_by_key AS u
		WHERE u.hour = h.at AND u.account_id = $4
		GROUP BY period, u.key_id ORDER BY period, u.key_id`

	// selectUsageByOperation is selectUsageByKey by operation.
	selectUsageByOperation = `
		WITH RECURSIVE hours (at) AS (SELECT CAST($1 AS bigint) UNION ALL SELECT at + 1 FROM hours WHERE at < $2)
		SELECT 3600000 * (u.hour - u.hour % $3) AS period, 0, u.operation, sum(requests), sum(rejected), sum(failed)
		FROM hours AS h CROSS JOIN usage_by_key AS u
		WHERE u.hour = h.at AND u.account_id = $4
		GROUP BY period, u.operation ORDER BY period, u.operation`

	selectOperationUsage = `
		SELECT account_id, 3600000 * hour, operation, sum(requests), sum(rejected), sum(failed)
		FROM usage_by_key WHERE hour = $1
		GROUP BY account_id, hour, operation ORDER BY account_id, operation`

	selectStoredUntil = `
		SELECT coalesce(min(seen_at), $1) FROM usage_nodes
		WHERE NOT stopped AND killed_at IS NULL`
)

// detailRows returns the arguments of addUsageDetail.
func detailRows(counts []petcat.UsageCount) [][]any {
	var rows [][]any
	for _, c := range counts {
		for _, d := range c.Detail {
			rows = append(rows, []any{c.Account, c.Hour, d.Key, d.Operation, d.Requests, d.Rejected, d.Failed})
		}
	}
	return rows
}

func scanPart(row Row) (p petcat.UsagePart, err error) {
	err = row.Scan((*moment)(&p.Begin), &p.Key, &p.Operation, &p.Requests, &p.Rejected, &p.Failed)
	return p, err
}

// UsageParts implements [petcat.UsageStore].
func (s *Store) UsageParts(ctx context.Context, q petcat.UsageQuery) ([]petcat.UsagePart, error) {
	now := Now(s.clock)
	length := int64(q.Step.Length() / time.Hour)
	from := max(ceilHours(q.From, length), petcat.UsageDetailKeptSince(now).Unix()/secondsPerHour)
	to := min(ceilHours(q.To, length), now.Unix()/secondsPerHour+hoursPerDay)
	if from >= to {
		return nil, nil
	}
	query := selectUsageByOperation
	if q.Group == petcat.GroupByKey {
		query = selectUsageByKey
	}
	return queryRows(s.reader(ctx, "read usage by "+string(q.Group)), scanPart, query, from, to-1, length, q.Account)
}

func scanOperationUsage(row Row) (u petcat.OperationUsage, err error) {
	err = row.Scan(&u.Account, (*moment)(&u.Hour), &u.Operation, &u.Requests, &u.Rejected, &u.Failed)
	return u, err
}

// OperationUsage implements [petcat.UsageStore].
func (s *Store) OperationUsage(ctx context.Context, hour time.Time) ([]petcat.OperationUsage, error) {
	c := s.reader(ctx, "read usage by operation")
	return queryRows(c, scanOperationUsage, selectOperationUsage, hour.Unix()/secondsPerHour)
}

// UsageStoredUntil implements [petcat.UsageStore].
func (s *Store) UsageStoredUntil(ctx context.Context) (time.Time, error) {
	now := Now(s.clock).UnixMilli()
	until, err := queryRow(s.reader(ctx, "read the running nodes"), scanNumber, nil, selectStoredUntil, now)
	return time.UnixMilli(min(until, now)).UTC(), err
}

// detailFoldHours bounds the hours that a cleaning reads for those to merge. A day counts the same if
// its hours are older than that and were never merged.
const detailFoldHours = 7 * hoursPerDay

// detailRow is a row of the table.
type detailRow struct {
	account petcat.AccountID
	hour    int64
	petcat.UsageDetail
}

func scanDetailRow(row Row) (d detailRow, err error) {
	err = row.Scan(&d.account, &d.hour, &d.Key, &d.Operation, &d.Requests, &d.Rejected, &d.Failed)
	return d, err
}

// foldSomeDetail merges some hours before the given one into their day's first hour, and returns their
// number.
func (s *Store) foldSomeDetail(ctx context.Context, before int64) (_ int, err error) {
	w, err := s.db.BeginWrite(ctx, "merge old hours of usage by key")
	if err != nil {
		return 0, err
	}
	defer w.End(&err)
	query := s.dialect.Text(takeDetailHours)
	rows, err := queryRows(w, scanDetailRow, query, before, s.dialect.CleanRows, before-detailFoldHours)
	if err != nil {
		return 0, err
	}
	for i := range rows {
		rows[i].hour -= rows[i].hour % hoursPerDay
	}
	// Sorted, so that two nodes cannot deadlock.
	slices.SortFunc(rows, func(a, b detailRow) int {
		return cmp.Or(
			cmp.Compare(a.hour, b.hour),
			cmp.Compare(a.account, b.account),
			cmp.Compare(a.Key, b.Key),
			cmp.Compare(a.Operation, b.Operation),
		)
	})
	// Not insertMany: PostgreSQL cannot update a row twice in one statement.
	for _, r := range rows {
		err := w.Run(addUsageDetail, r.account, r.hour, r.Key, r.Operation, r.Requests, r.Rejected, r.Failed)
		if err != nil {
			return 0, err
		}
	}
	return len(rows), w.Commit()
}
