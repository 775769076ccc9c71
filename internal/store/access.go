package store

import (
	"context"
	"slices"
	"strings"

	"petcat"
)

// FindCredentials implements [petcat.AccessStore].
func (s *Store) FindCredentials(ctx context.Context, hashes []petcat.KeyHash) (map[petcat.KeyHash]petcat.Credential, error) {
	query := `SELECT ` + columnsOf("k", keyColumns) + `, ` + columnsOf("a", accountColumns) + `
		FROM api_keys AS k JOIN accounts AS a ON a.id = k.account_id WHERE k.hash = ?`
	all := make(map[petcat.KeyHash]petcat.Credential, len(hashes))
	err := s.db.Read(ctx, "find keys by their hashes", func(c Conn) error {
		for _, h := range hashes {
			credential, found, err := one(c, credentialInto, query, h[:])
			if err != nil {
				return err
			}
			if found {
				all[h] = credential
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// columnsOf names the columns of a table in a join.
func columnsOf(table, columns string) string {
	return table + "." + strings.ReplaceAll(columns, ", ", ", "+table+".")
}

func credentialInto(c *petcat.Credential) []any {
	return slices.Concat(keyInto(&c.Key), accountInto(&c.Account))
}

const selectKeyAccess = `SELECT hash, id, account_id, expires_at, read_only, disabled_at IS NOT NULL, revoked_at IS NOT NULL FROM api_keys`

func keyAccessInto(k *petcat.KeyAccess) []any {
	return []any{(*hash)(&k.Hash), (*int64)(&k.ID), (*int64)(&k.Account), (*moment)(&k.ExpiresAt), &k.ReadOnly, &k.Disabled, &k.Revoked}
}

// EachKeyAccess implements [petcat.AccessStore].
func (s *Store) EachKeyAccess(ctx context.Context, fn func(petcat.KeyAccess) error) error {
	return each(ctx, s, "read the keys", keyAccessInto, fn, selectKeyAccess)
}

// AccessChangesSince implements [petcat.AccessStore]. If no account, key or ban changed, it
// reads one row, however many categories were created meanwhile.
func (s *Store) AccessChangesSince(ctx context.Context, after petcat.Revision) (petcat.AccessChange, error) {
	var c petcat.AccessChange
	err := s.db.Read(ctx, "read changes of access", func(conn Conn) error {
		var err error
		c, err = accessChanges(conn, after)
		return err
	})
	if err != nil {
		return petcat.AccessChange{}, err
	}
	return c, nil
}

// accessChanges reads the counter first. The other queries may already return a change that
// is committed after that. The next call returns it again, so nothing is missed.
func accessChanges(conn Conn, after petcat.Revision) (c petcat.AccessChange, err error) {
	const (
		counter  = `SELECT revision, access_revision FROM counter WHERE id = 1`
		keys     = selectKeyAccess + ` WHERE revision > ? ORDER BY revision`
		accounts = `SELECT ` + accountColumns + ` FROM accounts WHERE revision > ? ORDER BY revision`
		bans     = `SELECT ` + banColumns + ` FROM bans WHERE revision > ? ORDER BY revision`
	)
	var access petcat.Revision
	if _, err := conn.QueryRow(counter, nil, (*int64)(&c.Revision), (*int64)(&access)); err != nil || access <= after {
		return c, err
	}
	if c.Keys, err = all(conn, keyAccessInto, keys, int64(after)); err != nil {
		return c, err
	}
	if c.Accounts, err = all(conn, accountInto, accounts, int64(after)); err != nil {
		return c, err
	}
	c.Bans, err = all(conn, banInto, bans, int64(after))
	return c, err
}

// Revision implements [petcat.AccessStore].
func (s *Store) Revision(ctx context.Context) (petcat.Revision, error) {
	r, _, err := find(ctx, s, "read the revision", oneColumn[int64], `SELECT revision FROM counter WHERE id = 1`)
	return petcat.Revision(r), err
}
