package pgcounters

import (
	"cmp"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"petcat/internal/counters"
)

// lock takes the rows of accounts, in the order in which they are given. It is a
// statement of its own, so that the next one sees what others have changed meanwhile.
const lock = `SELECT count(*) FROM unnest($1::int8[]) AS t (account_id) CROSS JOIN LATERAL (
		SELECT FROM shared_count AS s WHERE s.account_id = t.account_id ORDER BY s.part DESC LIMIT 1 FOR UPDATE
	) AS s`

// last finds the last version of the row of t's account.
const last = `CROSS JOIN LATERAL (
		SELECT s.ctid AS place, s.* FROM shared_count AS s WHERE s.account_id = t.account_id ORDER BY s.part DESC LIMIT 1
	) AS s`

// nextPart is a row's key after a change: another one, after about 8 of them. Fewer
// keys cost less: one for 64 changes, a tenth to a quarter of a call. But beside
// a snapshot they then fell by half within minutes, because most versions of a row are
// on pages of their own.
const nextPart = `s.part + (random() < 1.0 / 8)::int`

// charge is [counters.Account.Charge]: turned is its rollOverMinute and rollOverDay, with
// what was reported; open is what there is room for; paid is what of it was leased.
const charge = `WITH clock AS MATERIALIZED (
		SELECT now, now / 60000000000 AS minute, now / 86400000000000 AS day FROM (SELECT ` + moment + ` AS now) AS t
	), found AS MATERIALIZED (
		SELECT t.*, s.place, s.epoch, s.day, s.known, s.count, s.granted, s.free, s.owed, s.tomorrow_granted, s.tomorrow_count,
			c.now, c.minute AS this_minute, c.day AS today, s.series AS old_series,
			CASE WHEN c.minute > s.minute THEN 0 ELSE s.used END + CASE WHEN t.minute = c.minute THEN t.reported ELSE 0 END AS used,
			s.epoch = $2 AND s.day = c.day AS same,
			s.epoch = $2 AND s.day + 1 = c.day AS next
		FROM unnest($3::int8[], $4::int8[], $5::int8[], $6::int8[], $7::int8[], $8::int8[], $9::int8[], $10::bool[], $11::int8[]) WITH ORDINALITY
			AS t (account_id, requests, reported, minute, day_used, per_minute, per_day, overdraw, series, n) ` + last + `
		CROSS JOIN clock AS c WHERE EXISTS (SELECT FROM shared_epoch WHERE id = 1 AND epoch = $2)
	), turned AS MATERIALIZED (
		SELECT n, place, now, this_minute, today, used, requests, per_minute, per_day, overdraw,
			CASE WHEN same OR next THEN old_series ELSE series END AS series,
			CASE WHEN same THEN known ELSE next END AS known,
			greatest(CASE WHEN same THEN count WHEN next THEN tomorrow_count ELSE 0 END,
				CASE WHEN (same AND known OR next) AND minute / 1440 = today THEN day_used END) AS count,
			CASE WHEN same THEN granted WHEN next THEN tomorrow_granted ELSE 0 END AS granted,
			CASE WHEN same THEN free WHEN next THEN tomorrow_granted ELSE 0 END AS free,
			CASE WHEN same THEN owed ELSE 0 END AS owed,
			CASE WHEN same THEN tomorrow_granted ELSE 0 END AS tomorrow_granted,
			CASE WHEN same THEN tomorrow_count ELSE 0 END AS tomorrow_count
		FROM found
	), open AS MATERIALIZED (
		SELECT *, CASE WHEN known THEN greatest(0, least(requests, per_minute - used, per_day - (count - free + owed))) ELSE 0 END AS room
		FROM turned
	), paid AS MATERIALIZED (
		SELECT *, least(room, free) AS leased, CASE WHEN overdraw THEN room ELSE least(room, free) END AS admitted FROM open
	)
	UPDATE shared_count AS s SET part = ` + nextPart + `, minute = p.this_minute, used = p.used + p.admitted, epoch = $2, day = p.today,
		series = p.series, known = p.known, count = p.count, granted = p.granted, free = p.free - p.leased,
		owed = p.owed + p.admitted - p.leased, tomorrow_granted = p.tomorrow_granted, tomorrow_count = p.tomorrow_count
	FROM paid AS p WHERE s.ctid = p.place
	RETURNING p.n, p.now, p.admitted, s.used, s.series, s.known, s.count, s.granted, s.free, s.owed`

// Charge implements [counters.Counters].
func (c *Counters) Charge(ctx context.Context, _ int, epoch counters.Epoch, charges []counters.Charge) ([]counters.Facts, error) {
	facts := make([]counters.Facts, len(charges))
	waiting := make([]asked, len(charges))
	for i, charge := range charges {
		waiting[i] = asked{charge, &facts[i]}
	}
	slices.SortFunc(waiting, func(a, b asked) int { return cmp.Compare(a.Account, b.Account) })
	for makeRows := false; ; makeRows = true {
		if err := c.charge(ctx, epoch, waiting, makeRows); err != nil {
			return nil, err
		}
		// Those are left whose accounts have no rows.
		waiting = slices.DeleteFunc(waiting, func(a asked) bool { return a.facts.Now != 0 })
		if len(waiting) == 0 {
			return facts, nil
		}
	}
}

// asked is a charge, and where its facts are to be put.
type asked struct {
	counters.Charge
	facts *counters.Facts
}

func (a asked) id() int64 { return int64(a.Account) }

// charge makes the charges of those accounts that have rows, or makes rows first.
func (c *Counters) charge(ctx context.Context, epoch counters.Epoch, charges []asked, makeRows bool) error {
	return c.runIn(ctx, epoch, "charge", func(batch *pgx.Batch) {
		if makeRows {
			queueRows(batch, charges)
		}
		queueCharges(batch, c.now(), epoch, charges)
	})
}

func queueCharges(batch *pgx.Batch, now int64, epoch counters.Epoch, charges []asked) {
	ids := columnOf(charges, asked.id)
	batch.Queue(lock, ids)
	batch.Queue(charge, now, epoch.ID, ids,
		columnOf(charges, func(a asked) int64 { return a.Requests }),
		columnOf(charges, func(a asked) int64 { return a.Reported }),
		columnOf(charges, func(a asked) int64 { return a.Minute }),
		columnOf(charges, func(a asked) int64 { return a.DayUsed }),
		columnOf(charges, func(a asked) int64 { return a.PerMinute }),
		columnOf(charges, func(a asked) int64 { return a.PerDay }),
		columnOf(charges, func(a asked) bool { return a.Overdraw }),
		columnOf(charges, func(a asked) int64 { return a.Series }),
	).Query(func(rows pgx.Rows) error { return readFacts(rows, charges) })
}

// readFacts puts the answers of a charge in their places.
func readFacts(rows pgx.Rows, charges []asked) error {
	var n int64
	var f counters.Facts
	d := &f.Day
	into := []any{&n, &f.Now, &f.Admitted, &f.MinuteUsed, &d.Series, &d.Known, &d.Count, &d.Granted, &d.Free, &d.Owed}
	_, err := pgx.ForEachRow(rows, into, func() error {
		*charges[n-1].facts = f
		return nil
	})
	return err
}

// columnOf returns one value of each element.
func columnOf[E, V any](all []E, value func(E) V) []V {
	column := make([]V, len(all))
	for i, e := range all {
		column[i] = value(e)
	}
	return column
}

// queueRows makes the rows of accounts that have none. One node does at a time: a row
// that another one has made meanwhile may have another part already, so that no key
// would be in the way of a second one.
func queueRows(batch *pgx.Batch, charges []asked) {
	const (
		alone  = `SELECT pg_advisory_xact_lock($1)`
		insert = `INSERT INTO shared_count (account_id, part) SELECT t.account_id, 0 FROM unnest($1::int8[]) AS t (account_id)
			WHERE NOT EXISTS (SELECT FROM shared_count AS s WHERE s.account_id = t.account_id)`
	)
	batch.Queue(alone, int64(makeLock))
	batch.Queue(insert, columnOf(charges, asked.id))
}

// makeLock is the number of the advisory lock that is held while rows are made: "pccount"
// in ASCII.
const makeLock = 0x7063636f756e74
