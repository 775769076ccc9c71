package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"petcat"
	"petcat/internal/store"
)

// dayKey names a row of day_count. Rows are always taken in the order of their
// keys, so that no two nodes wait for each other.
type dayKey struct{ day, account int64 }

func compareDays(a, b dayKey) int {
	return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(a.account, b.account))
}

// The statements of a call. A row that is not there cannot be locked, so it is made
// first; each statement sees what others committed while the one before waited for
// them. A call that is repeated while the first one still runs waits for its lock, and
// then sees that it was done.
const (
	makeDayCall = `INSERT INTO day_call (caller, number, granted, made_at) VALUES ($1, 0, '{}', $2) ON CONFLICT (caller) DO NOTHING`
	lockDayCall = `SELECT number FROM day_call WHERE caller = $1 FOR UPDATE`
)

// makeDays makes the rows that are not there, to be locked by the next statement.
const makeDays = `INSERT INTO day_count (day, account_id, count)
	SELECT day, account_id, 0 FROM unnest($1::int8[], $2::int8[]) WITH ORDINALITY AS t (day, account_id, n) ORDER BY n
	ON CONFLICT (day, account_id) DO NOTHING`

// LeaseDays implements [petcat.DayStore], in the place of package store's: the
// counter's row, which all creates wait for, has no part in it, and a call is one
// round trip, so that a node that stops in the middle of it holds no lock. The same
// goes for LeaseShared and ReturnDays.
func (s *Store) LeaseDays(ctx context.Context, call petcat.DayCall, leases []petcat.DayLease) ([]petcat.DayLeased, error) {
	const lease = `WITH call AS MATERIALIZED (
			SELECT number, granted FROM day_call WHERE caller = $5
		), locked AS MATERIALIZED (
			SELECT d.day, d.account_id, d.count, greatest(0, least(t.want, t.quota - d.count)) AS granted, t.n
			FROM unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[]) WITH ORDINALITY AS t (day, account_id, want, quota, n)
			JOIN day_count AS d ON d.day = t.day AND d.account_id = t.account_id
			ORDER BY d.day, d.account_id FOR UPDATE OF d
		), counted AS (
			UPDATE day_count AS d SET count = d.count + l.granted FROM locked AS l
			WHERE d.day = l.day AND d.account_id = l.account_id AND l.granted > 0 AND (SELECT number FROM call) < $6
		), kept AS (
			UPDATE day_call SET number = $6, made_at = $7, granted = (SELECT array_agg(granted ORDER BY n) FROM locked)
			WHERE caller = $5 AND number < $6
		)
		SELECT l.n, CASE WHEN c.number < $6 THEN l.granted ELSE c.granted[l.n] END,
			l.count + CASE WHEN c.number < $6 THEN l.granted ELSE 0 END
		FROM locked AS l CROSS JOIN call AS c`
	if len(leases) == 0 {
		return nil, nil
	}
	if err := petcat.CheckDayLeases(leases); err != nil {
		return nil, err
	}
	order := rowOrder(len(leases), func(i int) dayKey { return dayKey{leases[i].Day, int64(leases[i].Account)} })
	days, accounts, wants, quotas := make([]int64, len(order)), make([]int64, len(order)), make([]int64, len(order)), make([]int64, len(order))
	for j, at := range order {
		l := leases[at]
		days[j], accounts[j], wants[j], quotas[j] = l.Day, int64(l.Account), l.Want, l.Quota
	}
	answers := make([]petcat.DayLeased, len(leases))
	number, batch := s.beginDayCall(call)
	batch.Queue(makeDays, days, accounts)
	batch.Queue(lease, days, accounts, wants, quotas, call.Caller, call.Number, store.Now(s.clock).UnixMilli()).Query(rowsOf(func(scan store.Scan) error {
		var n int64
		var a petcat.DayLeased
		err := scan(&n, &a.Granted, &a.Count)
		if err == nil {
			answers[order[n-1]] = a
		}
		return err
	}))
	if err := s.write(ctx, "lease days", batch); err != nil {
		return nil, err
	}
	if *number > call.Number {
		return nil, fmt.Errorf("postgres: lease days: call %d was overtaken by call %d", call.Number, *number)
	}
	return answers, nil
}

// beginDayCall returns a batch that begins with taking the caller's row, and where it
// puts the number of the caller's last call.
func (s *Store) beginDayCall(call petcat.DayCall) (number *int64, batch *pgx.Batch) {
	number, batch = new(int64), &pgx.Batch{}
	batch.Queue(s.pool.settings)
	batch.Queue(makeDayCall, call.Caller, store.Now(s.clock).UnixMilli())
	batch.Queue(lockDayCall, call.Caller).QueryRow(func(row pgx.Row) error { return row.Scan(number) })
	return number, batch
}

// rowOrder returns the places of n leases, in the order of their rows.
func rowOrder(n int, key func(i int) dayKey) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return compareDays(key(a), key(b)) })
	return order
}

// ReturnDays implements [petcat.DayStore].
func (s *Store) ReturnDays(ctx context.Context, call petcat.DayCall, returns []petcat.DayReturn) error {
	const update = `WITH kept AS (
			UPDATE day_call SET number = $5, made_at = $6 WHERE caller = $4 AND number < $5 RETURNING number
		), locked AS MATERIALIZED (
			SELECT d.day, d.account_id, t.unused
			FROM unnest($1::int8[], $2::int8[], $3::int8[]) AS t (day, account_id, unused)
			JOIN day_count AS d ON d.day = t.day AND d.account_id = t.account_id
			ORDER BY d.day, d.account_id FOR UPDATE OF d
		)
		UPDATE day_count AS d SET count = greatest(0, d.count - l.unused) FROM locked AS l
		WHERE d.day = l.day AND d.account_id = l.account_id AND EXISTS (SELECT FROM kept)`
	unused := make(map[dayKey]int64)
	for _, r := range returns {
		unused[dayKey{r.Day, int64(r.Account)}] += max(0, r.Unused)
	}
	if len(unused) == 0 {
		return nil
	}
	var days, accounts, counts []int64
	for k, n := range unused {
		days, accounts, counts = append(days, k.day), append(accounts, k.account), append(counts, n)
	}
	_, batch := s.beginDayCall(call)
	batch.Queue(update, days, accounts, counts, call.Caller, call.Number, store.Now(s.clock).UnixMilli())
	return s.write(ctx, "return days", batch)
}

// write runs a batch as one transaction in one round trip.
func (s *Store) write(ctx context.Context, doing string, batch *pgx.Batch) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.pool.patience.write, errNoAnswer)
	defer cancel()
	return translate(s.pool.write(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.SendBatch(ctx, batch).Close()
	}), doing)
}
