package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"petcat"
)

// FindCredentials implements [petcat.AccessStore].
func (s *Store) FindCredentials(ctx context.Context, hashes []petcat.KeyHash) (map[petcat.KeyHash]petcat.Credential, error) {
	const query = `SELECT k.hash, k.id, k.account_id, k.label, k.hint, k.created_at, k.expires_at, k.disabled_at, k.revoked_at, k.successor_id,
			a.id, a.name, a.plan, a.per_minute, a.per_day, a.created_at, a.closed_at
		FROM api_key AS k JOIN account AS a ON a.id = k.account_id WHERE k.hash = ANY($1::bytea[])`
	wanted := make([][]byte, len(hashes))
	for i := range hashes {
		wanted[i] = hashes[i][:]
	}
	all := make(map[petcat.KeyHash]petcat.Credential, len(hashes))
	err := s.pool.read(ctx, "find keys by their hashes", func(ctx context.Context, conn *pgx.Conn) error {
		return eachRow(ctx, conn, nil, func(scan scanner) error {
			var c petcat.Credential
			var hash []byte
			// One row is read into two scans: the first only collects where its
			// columns go.
			var err error
			c.Account, err = scanAccount(func(account ...any) error {
				var err error
				c.Key, err = scanKey(func(key ...any) error {
					return scan(slices.Concat([]any{&hash}, key, account)...)
				})
				return err
			})
			if err == nil {
				all[petcat.KeyHash(hash)] = c
			}
			return err
		}, query, wanted)
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// EachKeyHash implements [petcat.AccessStore].
func (s *Store) EachKeyHash(ctx context.Context, fn func(petcat.KeyHash) error) error {
	var hash pgtype.DriverBytes // of the row at hand: nothing is copied twice
	return s.pool.each(ctx, "read the hashes of keys", func(scan scanner) error {
		if err := scan(&hash); err != nil {
			return err
		}
		return stop(fn(petcat.KeyHash(hash)))
	}, `SELECT hash FROM api_key`)
}

// AccessChangesSince implements [petcat.AccessStore]. When nothing changed it
// reads one row, however many categories were created meanwhile.
func (s *Store) AccessChangesSince(ctx context.Context, after petcat.Revision) (petcat.AccessChange, error) {
	var c petcat.AccessChange
	err := s.pool.read(ctx, "read changes of access", func(ctx context.Context, conn *pgx.Conn) error {
		var err error
		c, err = accessChanges(ctx, conn, after)
		return err
	})
	if err != nil {
		return petcat.AccessChange{}, err
	}
	return c, nil
}

// accessChanges reads the counter first. What is committed between that and the
// other queries may be among the rows already; it is told again next time, as it
// is then, and nothing is missed.
func accessChanges(ctx context.Context, conn *pgx.Conn, after petcat.Revision) (petcat.AccessChange, error) {
	const (
		counter  = `SELECT revision, access_revision FROM counter WHERE id = 1`
		keys     = `SELECT hash FROM api_key WHERE revision > $1 ORDER BY revision`
		accounts = `SELECT id FROM account WHERE revision > $1 ORDER BY revision`
		bans     = `SELECT ` + banColumns + ` FROM ban WHERE revision > $1 ORDER BY revision`
	)
	var c petcat.AccessChange
	var access int64
	if err := conn.QueryRow(ctx, counter).Scan((*int64)(&c.Revision), &access); err != nil || access <= int64(after) {
		return c, err
	}
	var batch pgx.Batch
	batch.Queue(keys, int64(after)).Query(rowsOf(func(scan scanner) error {
		var hash []byte
		err := scan(&hash)
		var h petcat.KeyHash
		copy(h[:], hash)
		c.Keys = append(c.Keys, h)
		return err
	}))
	batch.Queue(accounts, int64(after)).Query(rowsOf(func(scan scanner) error {
		var id petcat.AccountID
		err := scan((*int64)(&id))
		c.Accounts = append(c.Accounts, id)
		return err
	}))
	batch.Queue(bans, int64(after)).Query(rowsOf(func(scan scanner) error {
		b, err := scanBan(scan)
		c.Bans = append(c.Bans, b)
		return err
	}))
	return c, conn.SendBatch(ctx, &batch).Close()
}

// rowsOf calls row for every row of one query of a batch.
func rowsOf(row func(scanner) error) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		defer rows.Close()
		for rows.Next() {
			if err := row(rows.Scan); err != nil {
				return err
			}
		}
		return rows.Err()
	}
}

// Revision implements [petcat.AccessStore].
func (s *Store) Revision(ctx context.Context) (petcat.Revision, error) {
	var r int64
	err := s.pool.read(ctx, "read the revision", func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `SELECT revision FROM counter WHERE id = 1`).Scan(&r)
	})
	return petcat.Revision(r), err
}
