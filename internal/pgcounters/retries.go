package pgcounters

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"petcat/internal/counters"
)

// ShareRetries implements [counters.Counters]. The rows that it writes are this
// node's own.
func (c *Counters) ShareRetries(ctx context.Context, _ int, node string, keys []counters.KeyRetries) ([]int64, error) {
	const share = `WITH clock AS MATERIALIZED (
			SELECT ` + moment + ` AS now
		), told AS MATERIALIZED (
			SELECT * FROM unnest($3::int8[], $4::int8[]) WITH ORDINALITY AS t (key_id, retries, n)
		), kept AS (
			INSERT INTO shared_retry (key_id, node, retries, told_at) SELECT t.key_id, $2, t.retries, c.now FROM told AS t CROSS JOIN clock AS c
			ON CONFLICT (key_id, node) DO UPDATE SET retries = excluded.retries, told_at = excluded.told_at
		)
		SELECT t.n, (
			SELECT coalesce(sum(r.retries), 0)::int8 FROM shared_retry AS r
			WHERE r.key_id = t.key_id AND r.node <> $2 AND r.told_at BETWEEN c.now - $5::int8 AND c.now
		) FROM told AS t CROSS JOIN clock AS c`
	elsewhere := make([]int64, len(keys))
	err := c.run(ctx, "share retries", func(batch *pgx.Batch) {
		batch.Queue(share, c.now(), node,
			columnOf(keys, func(k counters.KeyRetries) int64 { return int64(k.Key) }),
			columnOf(keys, func(k counters.KeyRetries) int64 { return k.Retries }),
			int64(counters.RetriesHold*time.Second),
		).Query(func(rows pgx.Rows) error {
			var n, retries int64
			_, err := pgx.ForEachRow(rows, []any{&n, &retries}, func() error {
				elsewhere[n-1] = retries
				return nil
			})
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return elsewhere, nil
}
