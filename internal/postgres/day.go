package postgres

import (
	"cmp"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"petcat"
	"petcat/internal/fault"
)

// dayKey names a row of day_count. Rows are always taken in the order of their
// keys, so that no two nodes wait for each other.
type dayKey struct{ day, account int64 }

func compareDays(a, b dayKey) int {
	return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(a.account, b.account))
}

// LeaseDays implements [petcat.DayStore]. The counter's row has no part in it.
func (s *Store) LeaseDays(ctx context.Context, leases []petcat.DayLease) ([]petcat.DayLeased, error) {
	// A row that is not there cannot be locked, so it is made first. The second
	// statement sees what others committed while the first one waited for them.
	const insert = `INSERT INTO day_count (day, account_id, count)
		SELECT day, account_id, 0 FROM unnest($1::int8[], $2::int8[]) WITH ORDINALITY AS t (day, account_id, n) ORDER BY n
		ON CONFLICT (day, account_id) DO NOTHING`
	const lease = `WITH locked AS MATERIALIZED (
			SELECT d.day, d.account_id, greatest(0, least(t.want, t.quota - d.count)) AS granted, t.n
			FROM unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[]) WITH ORDINALITY AS t (day, account_id, want, quota, n)
			JOIN day_count AS d ON d.day = t.day AND d.account_id = t.account_id
			ORDER BY d.day, d.account_id FOR UPDATE OF d
		)
		UPDATE day_count AS d SET count = d.count + l.granted FROM locked AS l
		WHERE d.day = l.day AND d.account_id = l.account_id
		RETURNING l.n, l.granted, d.count`
	if len(leases) == 0 {
		return nil, nil
	}
	if err := fault.Hit(fault.LeaseWrite); err != nil {
		return nil, err
	}
	answers := make([]petcat.DayLeased, len(leases))
	var batch pgx.Batch
	batch.Queue(settings)
	for i, round := range rounds(leases) {
		days, accounts, wants, quotas := make([]int64, len(round)), make([]int64, len(round)), make([]int64, len(round)), make([]int64, len(round))
		for j, at := range round {
			l := leases[at]
			days[j], accounts[j], wants[j], quotas[j] = l.Day, int64(l.Account), l.Want, l.Quota
		}
		if i == 0 { // every row is in the first round
			batch.Queue(insert, days, accounts)
		}
		batch.Queue(lease, days, accounts, wants, quotas).Query(rowsOf(func(scan scanner) error {
			var n int64
			var a petcat.DayLeased
			err := scan(&n, &a.Granted, &a.Count)
			if err == nil {
				answers[round[n-1]] = a
			}
			return err
		}))
	}
	if err := s.write(ctx, "lease days", &batch); err != nil {
		return nil, err
	}
	return answers, nil
}

// rounds returns the places of the leases, in the order of their rows, so that no
// round has a row twice and what is asked first is granted first.
func rounds(leases []petcat.DayLease) [][]int {
	order := make([]int, len(leases))
	for i := range order {
		order[i] = i
	}
	key := func(i int) dayKey { return dayKey{leases[i].Day, int64(leases[i].Account)} }
	slices.SortStableFunc(order, func(a, b int) int { return compareDays(key(a), key(b)) })
	var all [][]int
	round := 0
	for i, at := range order {
		if i > 0 && key(order[i-1]) == key(at) {
			round++
		} else {
			round = 0
		}
		if round == len(all) {
			all = append(all, nil)
		}
		all[round] = append(all[round], at)
	}
	return all
}

// ReturnDays implements [petcat.DayStore].
func (s *Store) ReturnDays(ctx context.Context, returns []petcat.DayReturn) error {
	const update = `WITH locked AS MATERIALIZED (
			SELECT d.day, d.account_id, t.unused
			FROM unnest($1::int8[], $2::int8[], $3::int8[]) AS t (day, account_id, unused)
			JOIN day_count AS d ON d.day = t.day AND d.account_id = t.account_id
			ORDER BY d.day, d.account_id FOR UPDATE OF d
		)
		UPDATE day_count AS d SET count = greatest(0, d.count - l.unused) FROM locked AS l
		WHERE d.day = l.day AND d.account_id = l.account_id`
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
	var batch pgx.Batch
	batch.Queue(settings)
	batch.Queue(update, days, accounts, counts)
	return s.write(ctx, "return days", &batch)
}

// write runs a batch as one transaction in one round trip.
func (s *Store) write(ctx context.Context, doing string, batch *pgx.Batch) error {
	ctx, cancel := context.WithTimeoutCause(ctx, writeTimeout, errNoAnswer)
	defer cancel()
	return translate(s.pool.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.SendBatch(ctx, batch).Close()
	}), doing)
}

// DayCount implements [petcat.DayStore].
func (s *Store) DayCount(ctx context.Context, account petcat.AccountID, day int64) (int64, error) {
	const query = `SELECT count FROM day_count WHERE day = $1 AND account_id = $2`
	var count int64
	err := s.pool.read(ctx, "read a day's count", func(ctx context.Context, conn *pgx.Conn) error {
		_, err := found(conn.QueryRow(ctx, query, day, int64(account)).Scan(&count))
		return err
	})
	return count, err
}
