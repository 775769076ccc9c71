package sqlite

import (
	"context"
	"database/sql"
	"encoding/hex"
	"slices"

	"petcat"
)

// FindCredentials implements [petcat.AccessStore].
func (s *Store) FindCredentials(ctx context.Context, hashes []petcat.KeyHash) (map[petcat.KeyHash]petcat.Credential, error) {
	const query = `SELECT k.hash, k.id, k.account_id, k.label, k.hint, k.created_at, k.expires_at, k.disabled_at, k.revoked_at, k.successor_id,
			a.id, a.name, a.plan, a.per_minute, a.per_day, a.created_at, a.closed_at
		FROM api_key AS k JOIN account AS a ON a.id = k.account_id
		WHERE k.hash IN (SELECT unhex(value) FROM json_each(?))`
	all := make(map[petcat.KeyHash]petcat.Credential, len(hashes))
	err := each(ctx, s.readers, "find keys by their hashes", func(scan scanner) error {
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
	}, query, hexArray(hashes))
	return all, err
}

// hexArray returns hashes as a JSON array of their hexadecimal digits: one
// parameter of a query, however many there are.
func hexArray(hashes []petcat.KeyHash) string {
	text := make([]byte, 0, 2+len(hashes)*(2*len(petcat.KeyHash{})+3))
	text = append(text, '[')
	for i, hash := range hashes {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, '"')
		text = hex.AppendEncode(text, hash[:])
		text = append(text, '"')
	}
	return string(append(text, ']'))
}

// EachKeyHash implements [petcat.AccessStore].
func (s *Store) EachKeyHash(ctx context.Context, fn func(petcat.KeyHash) error) error {
	var hash sql.RawBytes // of the row at hand: nothing is copied twice
	return each(ctx, s.readers, "read the hashes of keys", func(scan scanner) error {
		if err := scan(&hash); err != nil {
			return err
		}
		return stop(fn(petcat.KeyHash(hash)))
	}, `SELECT hash FROM api_key`)
}

// AccessChangesSince implements [petcat.AccessStore]. When nothing changed it
// reads one row, however many categories were created meanwhile.
func (s *Store) AccessChangesSince(ctx context.Context, after petcat.Revision) (petcat.AccessChange, error) {
	// One transaction, so that the revision and the rows are of one moment.
	tx, err := s.readers.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return petcat.AccessChange{}, translate(err, "read changes of access")
	}
	defer func() { _ = tx.Rollback() }()
	c, err := accessChanges(ctx, tx, after)
	if err != nil {
		return petcat.AccessChange{}, translate(err, "read changes of access")
	}
	return c, nil
}

func accessChanges(ctx context.Context, tx *sql.Tx, after petcat.Revision) (petcat.AccessChange, error) {
	const (
		counter  = `SELECT revision, access_revision FROM counter WHERE id = 1`
		keys     = `SELECT hash FROM api_key WHERE revision > ? ORDER BY revision`
		accounts = `SELECT id FROM account WHERE revision > ? ORDER BY revision`
		bans     = `SELECT ` + banColumns + ` FROM ban WHERE revision > ? ORDER BY revision`
	)
	var c petcat.AccessChange
	var access petcat.Revision
	if err := tx.QueryRowContext(ctx, counter).Scan(&c.Revision, &access); err != nil || access <= after {
		return c, err
	}
	err := eachRow(ctx, tx, func(scan scanner) error {
		var hash []byte
		err := scan(&hash)
		var h petcat.KeyHash
		copy(h[:], hash)
		c.Keys = append(c.Keys, h)
		return err
	}, keys, int64(after))
	if err != nil {
		return c, err
	}
	err = eachRow(ctx, tx, func(scan scanner) error {
		var id petcat.AccountID
		err := scan(&id)
		c.Accounts = append(c.Accounts, id)
		return err
	}, accounts, int64(after))
	if err != nil {
		return c, err
	}
	err = eachRow(ctx, tx, func(scan scanner) error {
		b, err := scanBan(scan)
		c.Bans = append(c.Bans, b)
		return err
	}, bans, int64(after))
	return c, err
}

// Revision implements [petcat.AccessStore].
func (s *Store) Revision(ctx context.Context) (petcat.Revision, error) {
	var r petcat.Revision
	err := s.readers.QueryRowContext(ctx, `SELECT revision FROM counter WHERE id = 1`).Scan(&r)
	return r, translate(err, "read the revision")
}
