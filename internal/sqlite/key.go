package sqlite

import (
	"context"
	"database/sql"

	"petcat"
)

const keyColumns = `id, account_id, label, hint, created_at, expires_at, disabled_at, revoked_at, successor_id`

const keyByID = `SELECT ` + keyColumns + ` FROM api_key WHERE id = ?`

func scanKey(scan scanner) (petcat.Key, error) {
	var k petcat.Key
	var created, expires, disabled, revoked sql.Null[int64]
	err := scan(&k.ID, &k.Account, &k.Label, &k.Hint, &created, &expires, &disabled, &revoked, &k.Successor)
	k.CreatedAt, k.ExpiresAt = fromMillis(created), fromMillis(expires)
	k.DisabledAt, k.RevokedAt = fromMillis(disabled), fromMillis(revoked)
	return k, err
}

// CreateKey implements [petcat.KeyStore].
func (s *Store) CreateKey(ctx context.Context, by petcat.Actor, n petcat.NewKey) (petcat.Key, error) {
	var k petcat.Key
	err := s.change(ctx, "create key", func(t *tx) error {
		if _, err := t.openAccount(n.Account()); err != nil {
			return err
		}
		var err error
		k, err = t.insertKey(petcat.Key{Account: n.Account(), Label: n.Label(), Hint: n.Hint(), CreatedAt: t.now, ExpiresAt: stored(n.ExpiresAt())}, n.Hash())
		if err != nil {
			return err
		}
		return t.record(by, "key.create", k.ID, keyDetail(k))
	})
	if err != nil {
		return petcat.Key{}, err
	}
	return k, nil
}

func keyDetail(k petcat.Key) detail {
	d := detail{"account": k.Account.String(), "label": k.Label, "hint": k.Hint}
	if !k.ExpiresAt.IsZero() {
		d["expires_at"] = k.ExpiresAt
	}
	return d
}

// insertKey gives a key its id and writes it down.
func (t *tx) insertKey(k petcat.Key, hash petcat.KeyHash) (petcat.Key, error) {
	const insert = `INSERT INTO api_key (id, account_id, hash, label, hint, created_at, expires_at, successor_id, revision) VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?)`
	t.counters.key++
	k.ID = t.counters.key
	return k, t.exec(insert, int64(k.ID), int64(k.Account), hash[:], k.Label, k.Hint, k.CreatedAt.UnixMilli(), millis(k.ExpiresAt), int64(t.reviseAccess()))
}

// updateKey writes down what can change of a key.
func (t *tx) updateKey(k petcat.Key) error {
	const update = `UPDATE api_key SET expires_at = ?, disabled_at = ?, revoked_at = ?, successor_id = ?, revision = ? WHERE id = ?`
	return t.exec(update, millis(k.ExpiresAt), millis(k.DisabledAt), millis(k.RevokedAt), int64(k.Successor), int64(t.reviseAccess()), int64(k.ID))
}

// EachKey implements [petcat.KeyStore].
func (s *Store) EachKey(ctx context.Context, account petcat.AccountID, fn func(petcat.Key) error) error {
	const all = `SELECT ` + keyColumns + ` FROM api_key ORDER BY id`
	const ofAccount = `SELECT ` + keyColumns + ` FROM api_key WHERE account_id = ? ORDER BY id`
	row := func(scan scanner) error {
		k, err := scanKey(scan)
		if err != nil {
			return err
		}
		return stop(fn(k))
	}
	if account == 0 {
		return each(ctx, s.readers, "read keys", row, all)
	}
	return each(ctx, s.readers, "read keys", row, ofAccount, int64(account))
}

// FindKey implements [petcat.KeyStore].
func (s *Store) FindKey(ctx context.Context, id petcat.KeyID) (petcat.Key, error) {
	k, err := scanKey(s.readers.QueryRowContext(ctx, keyByID, int64(id)).Scan)
	ok, err := found(err)
	switch {
	case err != nil:
		return petcat.Key{}, translate(err, "find key")
	case !ok:
		return petcat.Key{}, noKey(id)
	}
	return k, nil
}

func noKey(id petcat.KeyID) error {
	return notFound("there is no key %s; list the keys with: petcat key list", id)
}

// RotateKey implements [petcat.KeyStore].
func (s *Store) RotateKey(ctx context.Context, by petcat.Actor, r petcat.Rotation) (petcat.Key, error) {
	var k petcat.Key
	err := s.change(ctx, "rotate key", func(t *tx) error {
		var err error
		k, err = t.rotateKey(by, r)
		return err
	})
	if err != nil {
		return petcat.Key{}, err
	}
	return k, nil
}

func (t *tx) rotateKey(by petcat.Actor, r petcat.Rotation) (petcat.Key, error) {
	old, err := t.key(r.Key())
	if err != nil {
		return petcat.Key{}, err
	}
	old, successor, err := r.Apply(old, t.now)
	if err != nil {
		return petcat.Key{}, err
	}
	old.ExpiresAt, successor.ExpiresAt = stored(old.ExpiresAt), stored(successor.ExpiresAt)
	successor, err = t.insertKey(successor, r.Hash())
	if err != nil {
		return petcat.Key{}, err
	}
	old.Successor = successor.ID
	if err := t.updateKey(old); err != nil {
		return petcat.Key{}, err
	}
	d := keyDetail(successor)
	d["successor"], d["works_until"] = successor.ID.String(), old.ExpiresAt
	return successor, t.record(by, "key.rotate", old.ID, d)
}

// ChangeKey implements [petcat.KeyStore].
func (s *Store) ChangeKey(ctx context.Context, by petcat.Actor, id petcat.KeyID, action petcat.KeyAction) (petcat.Key, error) {
	var k petcat.Key
	err := s.change(ctx, "change key", func(t *tx) error {
		before, err := t.key(id)
		if err != nil {
			return err
		}
		if k, err = action.Apply(before, t.now); err != nil || k == before {
			return err
		}
		return t.applyToKey(by, before, action, nil)
	})
	if err != nil {
		return petcat.Key{}, err
	}
	return k, nil
}

// applyToKey changes a key's state and records it.
func (t *tx) applyToKey(by petcat.Actor, k petcat.Key, action petcat.KeyAction, d detail) error {
	after, err := action.Apply(k, t.now)
	if err != nil {
		return err
	}
	if err := t.updateKey(after); err != nil {
		return err
	}
	return t.record(by, "key."+string(action), k.ID, d)
}

// key reads a key in the transaction.
func (t *tx) key(id petcat.KeyID) (petcat.Key, error) {
	k, err := scanKey(func(into ...any) error { return t.get(keyByID, []any{int64(id)}, into...) })
	if ok, err := found(err); err != nil {
		return petcat.Key{}, err
	} else if !ok {
		return petcat.Key{}, noKey(id)
	}
	return k, nil
}

// liveKeys returns an account's keys that are not revoked.
func (t *tx) liveKeys(account petcat.AccountID) ([]petcat.Key, error) {
	const query = `SELECT ` + keyColumns + ` FROM api_key WHERE account_id = ? AND revoked_at IS NULL ORDER BY id`
	var keys []petcat.Key
	err := eachRow(t.life, t.conn, func(scan scanner) error {
		k, err := scanKey(scan)
		keys = append(keys, k)
		return err
	}, query, int64(account))
	return keys, err
}
