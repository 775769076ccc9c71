package store

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"petcat"
)

// A node writes one small batch each second. Batches are merged by part, so that there are
// few, and those of one account are found without reading all. They are folded into hours
// when their minutes can no longer be queried, so that each hour is written about once.
// Hours are folded into days after [petcat.UsageHours]: see [petcat.UsageStep.KeptSince]. Any
// node may do this. Each step is one transaction, which moves counts from one table to
// another.
const (
	// mergeAge is how old a batch may get before it is merged. mergeRows and mergeBytes
	// bound what one transaction merges, because creates on SQLite wait for it: it takes
	// some 20 ms.
	mergeAge   = 10 * time.Minute
	mergeRows  = 600
	mergeBytes = 1 << 20
	// minutesBytes is how many bytes merged batches may take before they are folded early.
	minutesBytes = 16 << 20
)

// FoldUsage merges batches, folds merged batches into hours, and folds hours into days, as
// far as each is due.
func (s *Store) FoldUsage(ctx context.Context) error {
	for {
		due, err := s.mergeDue(ctx)
		if err != nil {
			return err
		}
		if !due {
			break
		}
		if err := s.db.Write(ctx, "merge the usage history", mergeUsage); err != nil {
			return err
		}
	}
	before, err := s.foldBefore(ctx)
	if err != nil {
		return err
	}
	const due = `SELECT DISTINCT part FROM usage_batch WHERE part < -1 OR part >= 0 AND minute < ? ORDER BY part`
	parts, err := list(ctx, s, "read what of the usage history is due", scanNumber[int64], due, before)
	if err != nil {
		return err
	}
	for _, part := range parts {
		err := s.db.Write(ctx, "fold the usage history", func(c Conn) error { return foldUsage(c, part, before) })
		if err != nil {
			return err
		}
	}
	for folded := s.dialect.CleanRows; folded == s.dialect.CleanRows; {
		if folded, err = s.foldHours(ctx); err != nil {
			return err
		}
	}
	return nil
}

// mergeDue reports whether there are enough batches to merge, or old ones.
func (s *Store) mergeDue(ctx context.Context) (bool, error) {
	const query = `SELECT count(*), coalesce(sum(length(data)), 0), coalesce(min(minute), 0) FROM usage_batch WHERE part = -1`
	type state struct{ rows, bytes, oldest int64 }
	b, _, err := find(ctx, s, "read the usage history", func(scan Scan) (b state, err error) {
		return b, scan(&b.rows, &b.bytes, &b.oldest)
	}, query)
	old := petcat.Minute.Index(Now(s.clock).Add(-mergeAge).Unix())
	return b.rows >= mergeRows || b.bytes >= mergeBytes || b.rows > 0 && b.oldest < old, err
}

// foldBefore returns the minute before which merged batches are folded. The last 60 minutes
// are kept by the minute, and so is the rest of the hour in which they begin, so that each
// hour is folded as a whole.
func (s *Store) foldBefore(ctx context.Context) (int64, error) {
	const query = `SELECT coalesce(sum(length(data)), 0) FROM usage_batch WHERE part >= 0`
	size, _, err := find(ctx, s, "read the usage history", scanNumber[int64], query)
	now := Now(s.clock)
	if size > minutesBytes {
		return petcat.Minute.Index(now.Unix()), err
	}
	return petcat.Minute.Index(petcat.UsageByMinute.KeptSince(now).Unix()), err
}

// lockUsage waits until no other transaction merges, folds or adds refusals. Until this one
// ends, no other does.
func lockUsage(c Conn) error {
	const lock = `INSERT INTO meta (name, value) VALUES ('usage_lock', '') ON CONFLICT (name) DO UPDATE SET value = excluded.value`
	_, err := c.Exec(lock)
	return err
}

// errEnough ends a query early. It is no failure.
var errEnough = errors.New("enough")

// takeBatches deletes the batches that a query chooses, up to mergeBytes, and calls count
// and key for their content.
func takeBatches(c Conn, count func(petcat.UsageCount), key func(petcat.KeyUse), query string, args ...any) error {
	const remove = `DELETE FROM usage_batch WHERE id = ?`
	var taken [][]any
	size := 0
	err := c.Query(func(scan Scan) error {
		if size >= mergeBytes {
			return errEnough
		}
		var id int64
		var data []byte
		if err := scan(&id, &data); err != nil {
			return err
		}
		taken, size = append(taken, []any{id}), size+len(data)
		return eachUsage(data, count, key)
	}, query, args...)
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	return c.ExecEach(remove, taken)
}

// mergeUsage merges the oldest batches that nodes wrote into one batch for each part.
func mergeUsage(c Conn) error {
	const oldest = `SELECT id, data FROM usage_batch WHERE part = -1 ORDER BY minute, id LIMIT ?`
	if err := lockUsage(c); err != nil {
		return err
	}
	parts := make(map[int64]*usageBatch)
	of := func(part int64) *usageBatch {
		if parts[part] == nil {
			parts[part] = &usageBatch{}
		}
		return parts[part]
	}
	err := takeBatches(c, func(u petcat.UsageCount) {
		b := of(partOf(u.Account))
		b.counts = append(b.counts, u)
	}, func(k petcat.KeyUse) {
		b := of(partOfKey(k.Key))
		b.keys = append(b.keys, k)
	}, oldest, mergeRows)
	if err != nil {
		return err
	}
	var rows [][]any
	for part, b := range parts {
		b.sum()
		rows = append(rows, []any{rand.Int64(), part, b.lastMinute(), b.encode()})
	}
	return c.ExecEach(insertUsageBatch, rows)
}

// foldUsage adds the merged batches of a part of accounts to their hours, or those of a part
// of keys to the table key_use.
func foldUsage(c Conn, part, before int64) error {
	const due = `SELECT id, data FROM usage_batch WHERE part = ? AND (part < 0 OR minute < ?) ORDER BY minute, id`
	const use = `INSERT INTO key_use (key_id, used_at) VALUES (?, ?)
		ON CONFLICT (key_id) DO UPDATE SET used_at = CASE WHEN key_use.used_at > excluded.used_at THEN key_use.used_at ELSE excluded.used_at END`
	if err := lockUsage(c); err != nil {
		return err
	}
	days := make(map[int64]map[petcat.AccountID]usageHours)
	var uses usageBatch
	err := takeBatches(c, func(u petcat.UsageCount) {
		day, hour := u.Minute/(minutesPerHour*hoursPerDay), u.Minute/minutesPerHour%hoursPerDay
		if days[day] == nil {
			days[day] = make(map[petcat.AccountID]usageHours)
		}
		if days[day][u.Account] == nil {
			days[day][u.Account] = usageHours{}
		}
		days[day][u.Account].add(hour, u.UsageCounts)
	}, func(k petcat.KeyUse) { uses.keys = append(uses.keys, k) }, due, part, before)
	if err != nil {
		return err
	}
	uses.sum()
	var rows [][]any
	for _, k := range uses.keys {
		rows = append(rows, []any{int64(k.Key), k.At.Unix()})
	}
	if err := c.ExecEach(use, rows); err != nil {
		return err
	}
	for day, accounts := range days {
		if err := foldDay(c, part, day, accounts); err != nil {
			return err
		}
	}
	return nil
}

// foldDay adds hours of accounts of one part to those that a day already has.
func foldDay(c Conn, part, day int64, accounts map[petcat.AccountID]usageHours) error {
	const (
		known = `SELECT account_id, hours FROM usage_hour WHERE day = ? AND account_id >= ? AND account_id < ?`
		put   = `INSERT INTO usage_hour (day, account_id, hours) VALUES (?, ?, ?) ON CONFLICT (day, account_id) DO UPDATE SET hours = excluded.hours`
	)
	err := c.Query(func(scan Scan) error {
		var account int64
		var data []byte
		if err := scan(&account, &data); err != nil {
			return err
		}
		if h := accounts[petcat.AccountID(account)]; h != nil {
			return h.addEncoded(data)
		}
		return nil
	}, known, day, part<<partBits, (part+1)<<partBits)
	if err != nil {
		return err
	}
	var rows [][]any
	for _, account := range slices.Sorted(maps.Keys(accounts)) {
		rows = append(rows, []any{day, int64(account), accounts[account].encode()})
	}
	return c.ExecEach(put, rows)
}

// foldHours folds some hours that are older than [petcat.UsageHours] into days, and returns
// how many rows of hours it removed.
func (s *Store) foldHours(ctx context.Context) (folded int, err error) {
	const (
		old = `SELECT day, account_id, hours FROM usage_hour WHERE day < ? ORDER BY day, account_id LIMIT ?`
		add = `INSERT INTO usage_day AS d (day, account_id, requests, minute_refused, day_refused, ban_refused, key_refused, failed, bytes)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (day, account_id) DO UPDATE SET requests = d.requests + excluded.requests,
			minute_refused = d.minute_refused + excluded.minute_refused, day_refused = d.day_refused + excluded.day_refused,
			ban_refused = d.ban_refused + excluded.ban_refused, key_refused = d.key_refused + excluded.key_refused,
			failed = d.failed + excluded.failed, bytes = d.bytes + excluded.bytes`
		remove = `DELETE FROM usage_hour WHERE day = ? AND account_id = ?`
	)
	before := petcat.Day.Index(petcat.UsageByHour.KeptSince(Now(s.clock)).Unix())
	err = s.db.Write(ctx, "fold old hours of the usage history", func(c Conn) error {
		if err := lockUsage(c); err != nil {
			return err
		}
		var totals, keys [][]any
		err := c.Query(func(scan Scan) error {
			var day, account int64
			var data []byte
			if err := scan(&day, &account, &data); err != nil {
				return err
			}
			hours := usageHours{}
			err := hours.addEncoded(data)
			var total petcat.UsageCounts
			for _, counts := range hours {
				total.Add(counts)
			}
			row := []any{day, account}
			for _, n := range usageFields(&total) {
				row = append(row, *n)
			}
			totals, keys = append(totals, row), append(keys, row[:2:2])
			return err
		}, old, before, s.dialect.CleanRows)
		if err != nil {
			return err
		}
		folded = len(keys)
		if err := c.ExecEach(add, totals); err != nil {
			return err
		}
		return c.ExecEach(remove, keys)
	})
	if err != nil {
		return 0, err // the transaction may still run, and write to folded
	}
	return folded, nil
}
