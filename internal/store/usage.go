package store

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"petcat"
)

const (
	// anyPart is the part of a batch that a node wrote and that is not merged yet: it has
	// counts of any account and key.
	anyPart = -1
	// partBits is how many low bits of an id do not matter for its part: 512 accounts
	// are one part, and so are 512 keys.
	partBits = 9
)

// partOf returns the part of an account, from 0.
func partOf(a petcat.AccountID) int64 { return int64(a) >> partBits }

// partOfKey returns the part of a key, below anyPart.
func partOfKey(k petcat.KeyID) int64 { return anyPart - 1 - int64(k)>>partBits }

// AddUsage implements [petcat.UsageStore]. It does not hold the counter's row, which
// creates on several nodes wait for.
func (s *Store) AddUsage(ctx context.Context, b petcat.UsageBatch) error {
	const (
		known  = `INSERT INTO usage_node (node, number, until_at, ended) VALUES (?, 0, ?, ?) ON CONFLICT (node) DO NOTHING`
		number = `UPDATE usage_node SET number = ?, until_at = ?, ended = ?, noticed_at = NULL WHERE node = ? AND number < ?`
	)
	batch := usageBatch{slices.Clone(b.Counts), slices.Clone(b.Keys)}
	batch.sum()
	last, data, id := batch.lastMinute(), batch.encode(), rand.Int64()
	until := stored(b.Until).UnixMilli()
	return s.db.Write(ctx, "add to the usage history", func(c Conn) error {
		if _, err := c.Exec(known, b.Node, until, false); err != nil {
			return err
		}
		added, err := c.Exec(number, b.Number, until, b.Ended, b.Node, b.Number)
		if err != nil || added == 0 || last == 0 {
			return err
		}
		_, err = c.Exec(insertUsageBatch, id, anyPart, last, data)
		return err
	})
}

const insertUsageBatch = `INSERT INTO usage_batch (id, part, minute, data) VALUES (?, ?, ?, ?)`

// NoteKilledNodes marks nodes as killed that have not ended, and that have written nothing
// to the usage history for the duration silence.
func (s *Store) NoteKilledNodes(ctx context.Context, silence time.Duration) error {
	const note = `UPDATE usage_node SET noticed_at = ? WHERE NOT ended AND noticed_at IS NULL AND until_at <= ?`
	now := Now(s.clock)
	return s.db.Write(ctx, "look for nodes that were killed", func(c Conn) error {
		_, err := c.Exec(note, now.UnixMilli(), now.Add(-silence).UnixMilli())
		return err
	})
}

// Usage implements [petcat.UsageStore].
func (s *Store) Usage(ctx context.Context, q petcat.UsageQuery) (petcat.UsageHistory, error) {
	periods := make(map[int64]petcat.UsageCounts) // by their index
	length := int64(q.Step.Length() / time.Second)
	from, to := ceil(q.From.Unix(), length), ceil(q.To.Unix(), length) // the indices of the first period, and of the one after the last
	add := func(unix int64, c petcat.UsageCounts) {
		if at := unix / length; from <= at && at < to {
			sum := periods[at]
			sum.Add(c)
			periods[at] = sum
		}
	}
	now := Now(s.clock)
	oldest, today := petcat.Day.Index(petcat.UsageByDay.KeptSince(now).Unix()), petcat.Day.Index(now.Unix())
	asked := [2]int64{max(petcat.Day.Index(from*length), oldest), min(petcat.Day.Index(to*length-1), today+1)}
	// Other transactions move counts from batches into hours and days. One statement reads
	// one snapshot, so it sees each count once.
	query, args := usageQuery(q, asked)
	var h petcat.UsageHistory
	err := s.db.Read(ctx, "read the usage history", func(c Conn) error {
		clear(periods)
		err := c.Query(func(scan Scan) error { return scanUsage(scan, q.Account, add) }, query, args...)
		if err != nil {
			return err
		}
		h.Gaps, err = usageGaps(c, q)
		return err
	})
	if err != nil {
		return petcat.UsageHistory{}, err
	}
	for at, counts := range periods {
		p := petcat.UsagePeriod{Begin: time.Unix(at*length, 0).UTC(), UsageCounts: counts}
		p.Incomplete = slices.ContainsFunc(h.Gaps, func(g petcat.UsageGap) bool { return g.Meets(p.Begin, q.Step) })
		h.Periods = append(h.Periods, p)
	}
	slices.SortFunc(h.Periods, func(a, b petcat.UsagePeriod) int { return a.Begin.Compare(b.Begin) })
	return h, nil
}

// ceil returns n/d, rounded up.
func ceil(n, d int64) int64 { return (n + d - 1) / d }

// usageQuery returns the statement that reads all counts of an account from the days asked
// (first and last), and its arguments.
func usageQuery(q petcat.UsageQuery, asked [2]int64) (query string, args []any) {
	// The primary keys begin with the day, so that old rows lie together and are deleted
	// together. So each day is looked up by itself. The CROSS JOIN makes SQLite read the
	// tables in that order.
	const (
		each    = `WITH RECURSIVE asked (day) AS (SELECT CAST(? AS bigint) UNION ALL SELECT day + 1 FROM asked WHERE day < ?) `
		hours   = each + `SELECT u.day, u.hours, 0, 0, 0, 0, 0, 0, 0 FROM asked AS a CROSS JOIN usage_hour AS u WHERE u.day = a.day AND u.account_id = ? UNION ALL `
		days    = `SELECT u.day, NULL, requests, minute_refused, day_refused, ban_refused, key_refused, failed, bytes FROM asked AS a CROSS JOIN usage_day AS u WHERE u.day = a.day AND u.account_id = ? UNION ALL `
		batches = `SELECT -1, data, 0, 0, 0, 0, 0, 0, 0 FROM usage_batch WHERE part = -1 OR part = ?`
	)
	from, to, account, part := asked[0], asked[1], int64(q.Account), partOf(q.Account)
	switch q.Step {
	case petcat.UsageByMinute:
		return batches, []any{part}
	case petcat.UsageByHour:
		return hours + batches, []any{from, to, account, part}
	default:
		return hours + days + batches, []any{from, to, account, account, part}
	}
}

// scanUsage reads a row of usageQuery.
func scanUsage(scan Scan, account petcat.AccountID, add func(unix int64, c petcat.UsageCounts)) error {
	var day int64
	var data []byte
	var total petcat.UsageCounts
	into := []any{&day, &data}
	for _, n := range usageFields(&total) {
		into = append(into, n)
	}
	if err := scan(into...); err != nil {
		return err
	}
	switch {
	case day < 0:
		return eachUsage(data, func(c petcat.UsageCount) {
			if c.Account == account {
				add(c.Minute*petcat.Minute.Seconds(), c.UsageCounts)
			}
		}, func(petcat.KeyUse) {})
	case data == nil:
		add(day*petcat.Day.Seconds(), total)
		return nil
	}
	hours := usageHours{}
	err := hours.addEncoded(data)
	for hour, c := range hours {
		add((day*hoursPerDay+hour)*secondsPerHour, c)
	}
	return err
}

const secondsPerHour = 3600

func usageGaps(c Conn, q petcat.UsageQuery) ([]petcat.UsageGap, error) {
	const query = `SELECT node, until_at, noticed_at FROM usage_node WHERE noticed_at >= ? AND until_at < ? ORDER BY until_at, node`
	return all(c, func(scan Scan) (petcat.UsageGap, error) {
		var g petcat.UsageGap
		var from, until int64
		err := scan(&g.Node, &from, &until)
		g.From, g.Until = time.UnixMilli(from).UTC(), time.UnixMilli(until).UTC()
		return g, err
	}, query, q.From.UnixMilli(), q.To.UnixMilli())
}

// KeyUses implements [petcat.UsageStore]. What is not merged yet has the uses of all keys:
// of an account, only those of its own keys are kept.
func (s *Store) KeyUses(ctx context.Context, account petcat.AccountID) (map[petcat.KeyID]time.Time, error) {
	const (
		keys    = `SELECT id FROM api_key WHERE account_id = ?`
		folded  = `SELECT key_id, used_at, NULL FROM key_use`
		batches = ` UNION ALL SELECT -1, 0, data FROM usage_batch WHERE part < 0`
	)
	query, args := folded+batches, []any(nil)
	own := make(map[petcat.KeyID]bool)
	if account != petcat.AllAccounts {
		query, args = folded+` WHERE key_id IN (`+keys+`)`+batches, []any{int64(account)}
		err := each(ctx, s, "read the keys of an account", scanNumber[petcat.KeyID], func(k petcat.KeyID) error {
			own[k] = true
			return nil
		}, keys, args...)
		if err != nil {
			return nil, err
		}
	}
	used := make(map[petcat.KeyID]time.Time)
	use := func(k petcat.KeyUse) {
		if (account == petcat.AllAccounts || own[k.Key]) && k.At.After(used[k.Key]) {
			used[k.Key] = k.At
		}
	}
	err := s.db.Each(ctx, "read when keys were used", func(scan Scan) error {
		var key, at int64
		var data []byte
		if err := scan(&key, &at, &data); err != nil {
			return err
		}
		if key < 0 {
			return eachUsage(data, func(petcat.UsageCount) {}, use)
		}
		use(petcat.KeyUse{Key: petcat.KeyID(key), At: time.Unix(at, 0).UTC()})
		return nil
	}, query, args...)
	if err != nil {
		return nil, err
	}
	return used, nil
}
