package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"petcat"
)

// LeaseDays implements [petcat.DayStore].
func (s *Store) LeaseDays(ctx context.Context, call petcat.DayCall, leases []petcat.DayLease) ([]petcat.DayLeased, error) {
	if len(leases) == 0 {
		return nil, nil
	}
	if err := petcat.CheckDayLeases(leases); err != nil {
		return nil, err
	}
	// The transaction may still run after this call has returned: it gets a copy.
	leases = slices.Clone(leases)
	return change(ctx, s, "lease days", func(t *Tx) ([]petcat.DayLeased, error) { return t.leaseDays(call, leases) })
}

func (t *Tx) leaseDays(call petcat.DayCall, leases []petcat.DayLease) ([]petcat.DayLeased, error) {
	number, granted, err := t.lastDayCall(call.Caller)
	switch {
	case err != nil:
		return nil, err
	case number > call.Number:
		return nil, fmt.Errorf("call %d was overtaken by call %d", call.Number, number)
	case number == call.Number:
		return t.tellAgain(leases, granted)
	}
	answers := make([]petcat.DayLeased, len(leases))
	for i, l := range leases {
		if answers[i], err = t.leaseDay(l); err != nil {
			return nil, err
		}
	}
	return answers, t.putDayCall(call, answers)
}

// lastDayCall returns the number of a caller's last call, 0 if there is none, and the
// encoded requests that it granted to each lease.
func (t *Tx) lastDayCall(caller string) (number int64, granted []byte, err error) {
	const query = `SELECT number, granted FROM day_call WHERE caller = ?`
	_, err = t.QueryRow(query, []any{caller}, &number, &granted)
	return number, granted, err
}

func (t *Tx) putDayCall(call petcat.DayCall, answers []petcat.DayLeased) error {
	const put = `INSERT INTO day_call (caller, number, granted, made_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (caller) DO UPDATE SET number = excluded.number, granted = excluded.granted, made_at = excluded.made_at`
	granted := make([]byte, 0, 2*len(answers))
	for _, a := range answers {
		granted = binary.AppendUvarint(granted, uint64(a.Granted))
	}
	return t.exec(put, call.Caller, call.Number, granted, t.now.UnixMilli())
}

// tellAgain answers a repeated call with what its first attempt granted. The counts are
// those of now.
func (t *Tx) tellAgain(leases []petcat.DayLease, granted []byte) ([]petcat.DayLeased, error) {
	answers := make([]petcat.DayLeased, len(leases))
	for i, l := range leases {
		n, size := binary.Uvarint(granted)
		if size <= 0 {
			return nil, fmt.Errorf("the call was made with %d leases, and with %d now", i, len(leases))
		}
		granted = granted[size:]
		count, err := t.dayCount(l)
		if err != nil {
			return nil, err
		}
		answers[i] = petcat.DayLeased{Granted: int64(n), Count: count}
	}
	return answers, nil
}

func (t *Tx) leaseDay(l petcat.DayLease) (petcat.DayLeased, error) {
	const put = `INSERT INTO day_count (day, account_id, count) VALUES (?, ?, ?)
		ON CONFLICT (day, account_id) DO UPDATE SET count = excluded.count`
	count, err := t.dayCount(l)
	if err != nil {
		return petcat.DayLeased{}, err
	}
	granted := max(0, min(l.Want, l.Quota-count))
	if granted == 0 {
		return petcat.DayLeased{Count: count}, nil
	}
	count += granted
	return petcat.DayLeased{Granted: granted, Count: count}, t.exec(put, l.Day, int64(l.Account), count)
}

func (t *Tx) dayCount(l petcat.DayLease) (count int64, err error) {
	_, err = t.QueryRow(selectDayCount, []any{l.Day, int64(l.Account)}, &count)
	return count, err
}

// LeaseShared implements [petcat.DayStore].
func (s *Store) LeaseShared(ctx context.Context, leases []petcat.SharedLease) ([]petcat.SharedLeased, error) {
	if len(leases) == 0 {
		return nil, nil
	}
	if err := petcat.CheckSharedLeases(leases); err != nil {
		return nil, err
	}
	leases = slices.Clone(leases)
	return change(ctx, s, "lease days for all nodes", func(t *Tx) ([]petcat.SharedLeased, error) {
		answers := make([]petcat.SharedLeased, len(leases))
		for i, l := range leases {
			var err error
			if answers[i], err = t.leaseShared(l); err != nil {
				return nil, err
			}
		}
		return answers, nil
	})
}

func (t *Tx) leaseShared(l petcat.SharedLease) (petcat.SharedLeased, error) {
	const query = `SELECT count, series, granted FROM day_count WHERE day = ? AND account_id = ?`
	const put = `INSERT INTO day_count (day, account_id, count, series, granted) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (day, account_id) DO UPDATE SET count = excluded.count, series = excluded.series, granted = excluded.granted`
	var count, series, granted int64
	if _, err := t.QueryRow(query, []any{l.Day, int64(l.Account)}, &count, &series, &granted); err != nil {
		return petcat.SharedLeased{}, err
	}
	if series == l.Series && granted > l.Granted {
		return petcat.SharedLeased{Granted: granted, Count: count}, nil
	}
	more := max(0, min(l.Want, l.Quota-count))
	answer := petcat.SharedLeased{Granted: l.Granted + more, Count: count + more}
	if more == 0 {
		return answer, nil
	}
	return answer, t.exec(put, l.Day, int64(l.Account), answer.Count, l.Series, answer.Granted)
}

// ReturnDays implements [petcat.DayStore].
func (s *Store) ReturnDays(ctx context.Context, call petcat.DayCall, returns []petcat.DayReturn) error {
	const update = `UPDATE day_count SET count = CASE WHEN count > ? THEN count - ? ELSE 0 END WHERE day = ? AND account_id = ?`
	if len(returns) == 0 {
		return nil
	}
	rows := make([][]any, len(returns))
	for i, r := range returns {
		unused := max(0, r.Unused)
		rows[i] = []any{unused, unused, r.Day, int64(r.Account)}
	}
	return s.db.Change(ctx, Work{Doing: "return days"}, func(t *Tx) error {
		number, _, err := t.lastDayCall(call.Caller)
		if err != nil || number >= call.Number {
			return err
		}
		if err := t.ExecEach(update, rows); err != nil {
			return err
		}
		return t.putDayCall(call, nil)
	})
}

const selectDayCount = `SELECT count FROM day_count WHERE day = ? AND account_id = ?`

// DayCount implements [petcat.DayStore].
func (s *Store) DayCount(ctx context.Context, account petcat.AccountID, day int64) (int64, error) {
	count, _, err := find(ctx, s, "read a day's count", scanNumber[int64], selectDayCount, day, int64(account))
	return count, err
}
