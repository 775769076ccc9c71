package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/petcat-api/petcat"
)

// Charge implements [petcat.QuotaStore]. It is one round trip and one transaction. The same
// statement reads the revision, in a snapshot that is taken after the call arrives.
func (s *DB) Charge(ctx context.Context, charges []petcat.QuotaCharge) (counts []petcat.QuotaCount, err error) {
	const query = `SELECT now, allowed, minute_used, day_used, (SELECT revision FROM counter)
		FROM charge_quota($1::int8[], $2::int8[], $3::int8[])`
	accounts, perMinute, perDay := make([]int64, len(charges)), make([]int64, len(charges)), make([]int64, len(charges))
	for i, c := range charges {
		accounts[i] = int64(c.Account)
		perDay[i] = c.Quota.PerDay
		if !c.Peek { // the function does not charge a quota of 0
			perMinute[i] = c.Quota.PerMinute
		}
	}
	before := s.history.revision()
	charge := func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, query, accounts, perMinute, perDay)
		if err != nil {
			return err
		}
		counts, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (c petcat.QuotaCount, err error) {
			err = row.Scan(&c.Now, &c.Allowed, &c.MinuteUsed, &c.DayUsed, &c.Newest)
			c.Now *= int64(time.Microsecond)
			return c, err
		})
		return err
	}
	err = s.charges.with(ctx, charge)
	if pgconn.SafeToRetry(err) && ctx.Err() == nil { // it was not sent, so it was not charged
		err = s.charges.with(ctx, charge)
	}
	s.noteWait(ctx, err)
	if sqlState(err) == lockTimeout { // of the function; the call is rolled back
		return nil, fmt.Errorf("%w: %s: %w", petcat.ErrAccountHeld, holder(err), err)
	} else if err != nil {
		return nil, translate(err, "charge quotas")
	}
	s.history.reached(counts[0].Newest, before)
	return counts, nil
}

// holder describes the lock that charge_quota did not get. The server's error contains the number of the
// waiting line; its words may be translated.
func holder(err error) string {
	const lockOfAccount = " 26 " // the line of pg_advisory_xact_lock in the body of charge_quota
	e, ok := errors.AsType[*pgconn.PgError](err)
	if ok && strings.Contains(e.Where, lockOfAccount) {
		return "another call holds the lock of an account"
	}
	return "another session holds a lock on the table spent or usage, for example by LOCK, ALTER TABLE or VACUUM FULL"
}

// Vacuuming returns how many transactions ago the oldest row was frozen, and the age of the oldest
// transaction with a snapshot. The snapshot keeps PostgreSQL from removing dead rows, and charges leave
// thousands per second.
func (s *DB) Vacuuming(ctx context.Context) (transactions int64, snapshot time.Duration, err error) {
	const query = `
		SELECT age(datfrozenxid)::int8, coalesce((
			SELECT extract(epoch FROM clock_timestamp() - min(xact_start))
			FROM pg_stat_activity
			WHERE backend_xmin IS NOT NULL
				AND datname = current_database()
				AND pid <> pg_backend_pid()
				AND backend_type <> 'autovacuum worker'
		), 0)::float8
		FROM pg_database WHERE datname = current_database()`
	err = s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		var seconds float64
		err := conn.QueryRow(ctx, query).Scan(&transactions, &seconds)
		snapshot = time.Duration(seconds * float64(time.Second))
		return err
	})
	return transactions, snapshot, translate(err, "find old transactions")
}
