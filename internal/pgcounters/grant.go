package pgcounters

import (
	"cmp"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"petcat/internal/counters"
)

// grant is [counters.Account.Grant], of at most one grant for each account.
const grant = `WITH told AS MATERIALIZED (
		SELECT t.granted, t.count, s.place, t.day = s.day AS today,
			CASE WHEN t.day = s.day THEN t.granted - s.granted ELSE 0 END AS more
		FROM unnest($2::int8[], $3::int8[], $4::int8[], $5::int8[], $6::int8[]) AS t (account_id, day, series, granted, count) ` + last + `
		WHERE s.epoch = $1 AND s.series = t.series AND EXISTS (SELECT FROM shared_epoch WHERE id = 1 AND epoch = $1)
			AND (t.day = s.day AND t.granted >= s.granted OR t.day = s.day + 1 AND t.granted > s.tomorrow_granted)
	)
	UPDATE shared_count AS s SET part = ` + nextPart + `, known = s.known OR t.today,
		count = CASE WHEN t.today THEN greatest(t.count, CASE WHEN t.more = 0 THEN s.count END) ELSE s.count END, granted = s.granted + t.more,
		free = s.free + t.more - least(s.owed, s.free + t.more), owed = s.owed - least(s.owed, s.free + t.more),
		tomorrow_granted = CASE WHEN t.today THEN s.tomorrow_granted ELSE t.granted END,
		tomorrow_count = CASE WHEN t.today THEN s.tomorrow_count ELSE t.count END
	FROM told AS t WHERE s.ctid = t.place`

// Grant implements [counters.Counters].
func (c *Counters) Grant(ctx context.Context, _ int, epoch counters.Epoch, grants []counters.Grant) error {
	grants = slices.SortedStableFunc(slices.Values(grants), func(a, b counters.Grant) int { return cmp.Compare(a.Account, b.Account) })
	return c.runIn(ctx, epoch, "grant", func(batch *pgx.Batch) {
		batch.Queue(lock, slices.Compact(columnOf(grants, func(g counters.Grant) int64 { return int64(g.Account) })))
		// A statement changes a row once: the second grant for an account is told in
		// the next one.
		for all := grants; len(all) > 0; {
			var first, later []counters.Grant
			for i, g := range all {
				if i > 0 && g.Account == all[i-1].Account {
					later = append(later, g)
				} else {
					first = append(first, g)
				}
			}
			queueGrants(batch, epoch, first)
			all = later
		}
	})
}

func queueGrants(batch *pgx.Batch, epoch counters.Epoch, grants []counters.Grant) {
	batch.Queue(grant, epoch.ID,
		columnOf(grants, func(g counters.Grant) int64 { return int64(g.Account) }),
		columnOf(grants, func(g counters.Grant) int64 { return g.Day }),
		columnOf(grants, func(g counters.Grant) int64 { return g.Series }),
		columnOf(grants, func(g counters.Grant) int64 { return g.Granted }),
		columnOf(grants, func(g counters.Grant) int64 { return g.Count }))
}
