package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"

	"petcat"
	"petcat/internal/fault"
)

// LeaseDays implements [petcat.DayStore].
func (s *Store) LeaseDays(ctx context.Context, call petcat.DayCall, leases []petcat.DayLease) ([]petcat.DayLeased, error) {
	if len(leases) == 0 {
		return nil, nil
	}
	if err := petcat.CheckDayLeases(leases); err != nil {
		return nil, err
	}
	// The writer may still work after the caller went away: it gets a copy.
	leases = append([]petcat.DayLease(nil), leases...)
	answers := make([]petcat.DayLeased, len(leases))
	err := s.change(ctx, "lease days", func(t *tx) error {
		if err := fault.Hit(fault.LeaseWrite); err != nil {
			return err
		}
		number, granted, err := t.lastDayCall(call.Caller)
		switch {
		case err != nil:
			return err
		case number > call.Number:
			return fmt.Errorf("call %d was overtaken by call %d", call.Number, number)
		case number == call.Number:
			return t.tellAgain(leases, granted, answers)
		}
		for i, l := range leases {
			if answers[i], err = t.leaseDay(l); err != nil {
				return err
			}
		}
		return t.putDayCall(call, answers)
	})
	if err != nil {
		return nil, err
	}
	return answers, nil
}

// lastDayCall returns the number of a caller's last call, 0 when there is none, and
// what it granted.
func (t *tx) lastDayCall(caller string) (number int64, granted []byte, err error) {
	const query = `SELECT number, granted FROM day_call WHERE caller = ?`
	_, err = found(t.get(query, []any{caller}, &number, &granted))
	return number, granted, err
}

func (t *tx) putDayCall(call petcat.DayCall, answers []petcat.DayLeased) error {
	const put = `INSERT OR REPLACE INTO day_call (caller, number, granted, made_at) VALUES (?, ?, ?, ?)`
	granted := make([]byte, 0, 2*len(answers))
	for _, a := range answers {
		granted = binary.AppendUvarint(granted, uint64(a.Granted))
	}
	return t.exec(put, call.Caller, call.Number, granted, t.now.UnixMilli())
}

// tellAgain answers a call that was done, by what it granted.
func (t *tx) tellAgain(leases []petcat.DayLease, granted []byte, answers []petcat.DayLeased) error {
	for i, l := range leases {
		n, size := binary.Uvarint(granted)
		if size <= 0 {
			return fmt.Errorf("the call was made with %d leases, and with %d now", i, len(leases))
		}
		granted = granted[size:]
		count, err := t.dayCount(l)
		if err != nil {
			return err
		}
		answers[i] = petcat.DayLeased{Granted: int64(n), Count: count}
	}
	return nil
}

func (t *tx) leaseDay(l petcat.DayLease) (petcat.DayLeased, error) {
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

func (t *tx) dayCount(l petcat.DayLease) (count int64, err error) {
	_, err = found(t.get(selectDayCount, []any{l.Day, int64(l.Account)}, &count))
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
	leases = append([]petcat.SharedLease(nil), leases...)
	answers := make([]petcat.SharedLeased, len(leases))
	err := s.change(ctx, "lease days for all nodes", func(t *tx) error {
		if err := fault.Hit(fault.LeaseWrite); err != nil {
			return err
		}
		var err error
		for i, l := range leases {
			if answers[i], err = t.leaseShared(l); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return answers, nil
}

func (t *tx) leaseShared(l petcat.SharedLease) (petcat.SharedLeased, error) {
	const query = `SELECT count, series, granted FROM day_count WHERE day = ? AND account_id = ?`
	const put = `INSERT INTO day_count (day, account_id, count, series, granted) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (day, account_id) DO UPDATE SET count = excluded.count, series = excluded.series, granted = excluded.granted`
	var count, series, granted int64
	if _, err := found(t.get(query, []any{l.Day, int64(l.Account)}, &count, &series, &granted)); err != nil {
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
	const update = `UPDATE day_count SET count = max(0, count - ?) WHERE day = ? AND account_id = ?`
	if len(returns) == 0 {
		return nil
	}
	returns = append([]petcat.DayReturn(nil), returns...)
	return s.change(ctx, "return days", func(t *tx) error {
		number, _, err := t.lastDayCall(call.Caller)
		if err != nil || number >= call.Number {
			return err
		}
		for _, r := range returns {
			if err := t.exec(update, max(0, r.Unused), r.Day, int64(r.Account)); err != nil {
				return err
			}
		}
		return t.putDayCall(call, nil)
	})
}

const selectDayCount = `SELECT count FROM day_count WHERE day = ? AND account_id = ?`

// DayCount implements [petcat.DayStore].
func (s *Store) DayCount(ctx context.Context, account petcat.AccountID, day int64) (int64, error) {
	var count sql.Null[int64]
	_, err := found(s.readers.QueryRowContext(ctx, selectDayCount, day, int64(account)).Scan(&count))
	return count.V, translate(err, "read a day's count")
}
