package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"petcat"
	"petcat/internal/store"
)

// LeaseShared implements [petcat.DayStore]; see LeaseDays.
func (s *Store) LeaseShared(ctx context.Context, leases []petcat.SharedLease) ([]petcat.SharedLeased, error) {
	// ahead: more was granted in the series than the lease knows of.
	const lease = `WITH locked AS MATERIALIZED (
			SELECT d.day, d.account_id, d.count, d.granted, t.series, t.known, t.n,
				d.series = t.series AND d.granted > t.known AS ahead, greatest(0, least(t.want, t.quota - d.count)) AS more
			FROM unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[], $5::int8[], $6::int8[])
				WITH ORDINALITY AS t (day, account_id, want, quota, series, known, n)
			JOIN day_count AS d ON d.day = t.day AND d.account_id = t.account_id
			ORDER BY d.day, d.account_id FOR UPDATE OF d
		), leased AS (
			UPDATE day_count AS d SET count = d.count + l.more, series = l.series, granted = l.known + l.more FROM locked AS l
			WHERE d.day = l.day AND d.account_id = l.account_id AND l.more > 0 AND NOT l.ahead
		)
		SELECT n, CASE WHEN ahead THEN granted ELSE known + more END, count + CASE WHEN ahead THEN 0 ELSE more END FROM locked`
	if len(leases) == 0 {
		return nil, nil
	}
	if err := petcat.CheckSharedLeases(leases); err != nil {
		return nil, err
	}
	order := rowOrder(len(leases), func(i int) dayKey { return dayKey{leases[i].Day, int64(leases[i].Account)} })
	columns := make([][]int64, 6)
	for _, at := range order {
		l := leases[at]
		for c, v := range []int64{l.Day, int64(l.Account), l.Want, l.Quota, l.Series, l.Granted} {
			columns[c] = append(columns[c], v)
		}
	}
	answers := make([]petcat.SharedLeased, len(leases))
	var batch pgx.Batch
	batch.Queue(s.pool.settings)
	batch.Queue(makeDays, columns[0], columns[1])
	batch.Queue(lease, columns[0], columns[1], columns[2], columns[3], columns[4], columns[5]).Query(rowsOf(func(scan store.Scan) error {
		var n int64
		var a petcat.SharedLeased
		err := scan(&n, &a.Granted, &a.Count)
		if err == nil {
			answers[order[n-1]] = a
		}
		return err
	}))
	if err := s.write(ctx, "lease days for all nodes", &batch); err != nil {
		return nil, err
	}
	return answers, nil
}
