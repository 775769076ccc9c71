package store

import (
	"context"

	"petcat"
)

const keyColumns = `id, account_id, label, hint, created_at, expires_at, disabled_at, revoked_at, successor_id, read_only`

const keyByID = `SELECT ` + keyColumns + ` FROM api_keys WHERE id = ?`

func keyInto(k *petcat.Key) []any {
	return []any{
		(*int64)(&k.ID), (*int64)(&k.Account), &k.Label, &k.Hint, (*moment)(&k.CreatedAt), (*moment)(&k.ExpiresAt), (*moment)(&k.DisabledAt),
		(*moment)(&k.RevokedAt), (*int64)(&k.Successor), &k.ReadOnly,
	}
}

// CreateKey implements [petcat.KeyStore].
func (s *Store) CreateKey(ctx context.Context, by petcat.Actor, n petcat.NewKey) (petcat.Key, error) {
	return change(ctx, s, "create key", func(t *Tx) (petcat.Key, error) {
		if _, err := t.openAccount(n.Account()); err != nil {
			return petcat.Key{}, err
		}
		terms := n.Terms()
		k, err := t.insertKey(petcat.Key{
			Account: n.Account(), Label: terms.Label, Hint: n.Hint(), ReadOnly: terms.ReadOnly, CreatedAt: t.now, ExpiresAt: stored(terms.ExpiresAt),
		}, n.Hash())
		if err != nil {
			return k, err
		}
		return k, t.record(by, "key.create", k.ID, keyDetail(k))
	})
}

func keyDetail(k petcat.Key) detail {
	d := detail{"account": k.Account.String(), "label": k.Label, "hint": k.Hint}
	if !k.ExpiresAt.IsZero() {
		d["expires_at"] = k.ExpiresAt
	}
	if k.ReadOnly {
		d["read_only"] = true
	}
	return d
}

// insertKey gives a key its id and inserts it.
func (t *Tx) insertKey(k petcat.Key, hash petcat.KeyHash) (petcat.Key, error) {
	const insert = `INSERT INTO api_keys (id, account_id, hash, label, hint, read_only, created_at, expires_at, successor_id, revision) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, ?)`
	t.sequences.Key++
	k.ID = t.sequences.Key
	return k, t.exec(insert, int64(k.ID), int64(k.Account), hash[:], k.Label, k.Hint, k.ReadOnly, k.CreatedAt.UnixMilli(), millis(k.ExpiresAt), int64(t.reviseAccess()))
}

// updateKey writes the columns of a key that can change.
func (t *Tx) updateKey(k petcat.Key, by petcat.Actor, action string, d detail) error {
	const update = `UPDATE api_keys SET expires_at = ?, disabled_at = ?, revoked_at = ?, successor_id = ?, revision = ? WHERE id = ?`
	return t.write(entry{by, action, k.ID, d}, update,
		millis(k.ExpiresAt), millis(k.DisabledAt), millis(k.RevokedAt), int64(k.Successor), int64(t.reviseAccess()), int64(k.ID))
}

// EachKey implements [petcat.KeyStore].
func (s *Store) EachKey(ctx context.Context, account petcat.AccountID, fn func(petcat.Key) error) error {
	const all = `SELECT ` + keyColumns + ` FROM api_keys ORDER BY id`
	const ofAccount = `SELECT ` + keyColumns + ` FROM api_keys WHERE account_id = ? ORDER BY id`
	if account == 0 {
		return each(ctx, s, "read keys", keyInto, fn, all)
	}
	return each(ctx, s, "read keys", keyInto, fn, ofAccount, int64(account))
}

// FindKey implements [petcat.KeyStore].
func (s *Store) FindKey(ctx context.Context, id petcat.KeyID) (petcat.Key, error) {
	return mustFind(ctx, s, "find key", keyInto, noKey(id), keyByID, int64(id))
}

// key reads a key in the transaction.
func (t *Tx) key(id petcat.KeyID) (petcat.Key, error) {
	return must(t, keyInto, noKey(id), keyByID, int64(id))
}

func noKey(id petcat.KeyID) error { return notFound("there is no key %s", id) }

// RotateKey implements [petcat.KeyStore].
func (s *Store) RotateKey(ctx context.Context, by petcat.Actor, r petcat.Rotation) (petcat.Key, error) {
	return change(ctx, s, "rotate key", func(t *Tx) (petcat.Key, error) {
		old, err := t.key(r.Key())
		if err != nil {
			return old, err
		}
		old, successor, err := r.Apply(old, t.now)
		if err != nil {
			return old, err
		}
		old.ExpiresAt, successor.ExpiresAt = stored(old.ExpiresAt), stored(successor.ExpiresAt)
		successor, err = t.insertKey(successor, r.Hash())
		if err != nil {
			return old, err
		}
		old.Successor = successor.ID
		d := keyDetail(successor)
		d["successor"], d["works_until"] = successor.ID.String(), old.ExpiresAt
		return successor, t.updateKey(old, by, "key.rotate", d)
	})
}

// UndoRotation undoes the rotation of a key whose successor nobody has seen: the successor is
// revoked, and the key is as it was before.
func (s *Store) UndoRotation(ctx context.Context, by petcat.Actor, before petcat.Key) error {
	_, err := change(ctx, s, "undo rotation", func(t *Tx) (petcat.Key, error) {
		k, err := t.key(before.ID)
		if err != nil || k.Successor == 0 {
			return k, err
		}
		if _, err := t.changeKey(by, k.Successor, petcat.RevokeKey); err != nil {
			return k, err
		}
		k.ExpiresAt, k.Successor = before.ExpiresAt, 0
		return k, t.updateKey(k, by, "key.unrotate", nil)
	})
	return err
}

// ChangeKey implements [petcat.KeyStore].
func (s *Store) ChangeKey(ctx context.Context, by petcat.Actor, id petcat.KeyID, action petcat.KeyAction) (petcat.Key, error) {
	return change(ctx, s, "change key", func(t *Tx) (petcat.Key, error) { return t.changeKey(by, id, action) })
}

func (t *Tx) changeKey(by petcat.Actor, id petcat.KeyID, action petcat.KeyAction) (petcat.Key, error) {
	before, err := t.key(id)
	if err != nil {
		return before, err
	}
	k, err := action.Apply(before, t.now)
	if err != nil || k == before {
		return k, err
	}
	return k, t.updateKey(k, by, "key."+string(action), nil)
}

// revokeAll revokes all keys of an account and returns how many there were. There may be
// thousands, and no other write can commit meanwhile, so it takes few round trips.
func (t *Tx) revokeAll(by petcat.Actor, account petcat.AccountID, d detail) (revoked int, err error) {
	const live = `SELECT id FROM api_keys WHERE account_id = ? AND revoked_at IS NULL ORDER BY id`
	const revoke = `UPDATE api_keys SET revoked_at = ?, revision = ? WHERE id = ?`
	var rows [][]any
	var subjects []string
	err = t.Query(func(scan Scan) error {
		var id petcat.KeyID
		err := scan((*int64)(&id))
		rows, subjects = append(rows, []any{t.now.UnixMilli(), int64(t.reviseAccess()), int64(id)}), append(subjects, id.String())
		return err
	}, live, int64(account))
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	if err := t.ExecEach(revoke, rows); err != nil {
		return 0, err
	}
	return len(rows), t.recordEach(by, "key."+string(petcat.RevokeKey), subjects, d)
}
