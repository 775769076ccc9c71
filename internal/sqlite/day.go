package sqlite

import (
	"context"
	"database/sql"

	"petcat"
	"petcat/internal/fault"
)

// LeaseDays implements [petcat.DayStore].
func (s *Store) LeaseDays(ctx context.Context, leases []petcat.DayLease) ([]petcat.DayLeased, error) {
	// The writer may still work after the caller went away: it gets a copy.
	leases = append([]petcat.DayLease(nil), leases...)
	answers := make([]petcat.DayLeased, len(leases))
	err := s.change(ctx, "lease days", func(t *tx) error {
		if err := fault.Hit(fault.LeaseWrite); err != nil {
			return err
		}
		for i, l := range leases {
			var err error
			if answers[i], err = t.leaseDay(l); err != nil {
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

func (t *tx) leaseDay(l petcat.DayLease) (petcat.DayLeased, error) {
	const put = `INSERT INTO day_count (day, account_id, count) VALUES (?, ?, ?)
		ON CONFLICT (day, account_id) DO UPDATE SET count = excluded.count`
	var count int64
	if _, err := found(t.get(selectDayCount, []any{l.Day, int64(l.Account)}, &count)); err != nil {
		return petcat.DayLeased{}, err
	}
	granted := max(0, min(l.Want, l.Quota-count))
	if granted == 0 {
		return petcat.DayLeased{Count: count}, nil
	}
	count += granted
	return petcat.DayLeased{Granted: granted, Count: count}, t.exec(put, l.Day, int64(l.Account), count)
}

// ReturnDays implements [petcat.DayStore].
func (s *Store) ReturnDays(ctx context.Context, returns []petcat.DayReturn) error {
	const update = `UPDATE day_count SET count = max(0, count - ?) WHERE day = ? AND account_id = ?`
	returns = append([]petcat.DayReturn(nil), returns...)
	return s.change(ctx, "return days", func(t *tx) error {
		for _, r := range returns {
			if err := t.exec(update, max(0, r.Unused), r.Day, int64(r.Account)); err != nil {
				return err
			}
		}
		return nil
	})
}

const selectDayCount = `SELECT count FROM day_count WHERE day = ? AND account_id = ?`

// DayCount implements [petcat.DayStore].
func (s *Store) DayCount(ctx context.Context, account petcat.AccountID, day int64) (int64, error) {
	var count sql.Null[int64]
	_, err := found(s.readers.QueryRowContext(ctx, selectDayCount, day, int64(account)).Scan(&count))
	return count.V, translate(err, "read a day's count")
}
