package store

import (
	"cmp"
	"context"

	"petcat"
)

const (
	keyColumns = `id, account_id, label, hint, created_at, expires_at, disabled_at, revoked_at, successor_id, read_only`
	selectKeys = `SELECT ` + keyColumns + `, (SELECT 1000 * used_at FROM key_uses WHERE key_id = id) FROM api_keys`
)

func keyInto(k *petcat.Key) []any {
	return []any{
		(*int64)(&k.ID), (*int64)(&k.Account), &k.Label, &k.Hint, (*moment)(&k.CreatedAt), (*moment)(&k.ExpiresAt), (*moment)(&k.DisabledAt),
		(*moment)(&k.RevokedAt), (*int64)(&k.Successor), &k.ReadOnly, (*moment)(&k.UsedAt),
	}
}

// CreateKey implements [petcat.KeyStore].
func (s *Store) CreateKey(ctx context.Context, by petcat.Actor, n petcat.NewKey) (petcat.Key, error) {
	return change(ctx, s, Work{Doing: "create key"}, func(t *Tx) (petcat.Key, error) {
		if _, err := t.openAccount(n.Account()); err != nil {
			return petcat.Key{}, err
		}
		terms := n.Terms()
		k, err := t.insertKey(petcat.Key{
			Account: n.Account(), Label: terms.Label, Hint: n.Generated().Hint, ReadOnly: terms.ReadOnly, CreatedAt: t.now, ExpiresAt: stored(terms.ExpiresAt),
		}, n.Generated().Hash, by)
		if err == nil {
			err = t.record(by, "key.create", keyDetail(k), k.ID.String())
		}
		return k, err
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

// insertKey assigns an id to a key and inserts it, unless a customer has too many keys.
func (t *Tx) insertKey(k petcat.Key, hash petcat.KeyHash, by petcat.Actor) (petcat.Key, error) {
	const count = `SELECT count(*) FROM api_keys WHERE account_id = ? AND (revoked_at IS NULL OR created_at > ?)`
	if by == k.Account.Actor() {
		n, err := one(t, oneColumn[int64], nil, count, int64(k.Account), t.now.AddDate(0, 0, -1).UnixMilli())
		if err != nil || n >= petcat.MaxCustomerKeys {
			return k, cmp.Or(err, invalid("an account has at most %d keys, with those of the last day; revoke some, and try again tomorrow", petcat.MaxCustomerKeys))
		}
	}
	t.sequences.Key++
	k.ID = petcat.KeyID(t.sequences.Key)
	row := keyInto(&k)
	row = append(row[:len(row)-1], hash[:], t.reviseAccess()) // without UsedAt
	return k, execRows(t, 1, insertInto("api_keys", keyColumns+", hash, revision"), ``, [][]any{row})
}

func keyByID(c Conn, id petcat.KeyID) (petcat.Key, error) {
	return one(c, keyInto, notFound("there is no key %s", id), selectKeys+` WHERE id = ?`, int64(id))
}

// FindKey implements [petcat.KeyStore].
func (s *Store) FindKey(ctx context.Context, id petcat.KeyID) (petcat.Key, error) {
	return read(ctx, s, "find key", func(c Conn) (petcat.Key, error) { return keyByID(c, id) })
}

// FindKeys implements [petcat.KeyStore].
func (s *Store) FindKeys(ctx context.Context, hashes []petcat.KeyHash) ([]petcat.Key, error) {
	args := rowsOf(hashes, func(h *petcat.KeyHash) []any { return []any{h[:]} })
	return listEach(ctx, s, "find keys by their hashes", keyInto, selectKeys+` WHERE hash = ?`, args)
}

// KeyPage implements [petcat.KeyStore].
func (s *Store) KeyPage(ctx context.Context, q petcat.KeyQuery) ([]petcat.Key, error) {
	var c conditions
	c.when(q.Account != 0, `account_id = ?`, int64(q.Account))
	c.when(q.Hint != "", `hint = ?`, q.Hint)
	c.when(q.Before != 0, `id < ?`, int64(q.Before))
	query, args := c.page(selectKeys, `id DESC`, q.Limit)
	return list(ctx, s, "read a page of keys", keyInto, query, args...)
}

// RotateKey implements [petcat.KeyStore].
func (s *Store) RotateKey(ctx context.Context, by petcat.Actor, r petcat.Rotation) (petcat.Key, error) {
	return change(ctx, s, Work{Doing: "rotate key"}, func(t *Tx) (successor petcat.Key, err error) {
		_, err = t.updateKey(r.Key(), by, "key.rotate", func(old petcat.Key) (petcat.Key, detail, error) {
			old, successor, err = r.Apply(old, t.now)
			if err != nil {
				return old, nil, err
			}
			old.ExpiresAt, successor.ExpiresAt = stored(old.ExpiresAt), stored(successor.ExpiresAt)
			successor, err = t.insertKey(successor, r.Generated().Hash, by)
			old.Successor = successor.ID
			d := keyDetail(successor)
			d["successor"], d["old_key_expires_at"] = successor.ID.String(), old.ExpiresAt
			return old, d, err
		})
		return successor, err
	})
}

// UndoRotation undoes a rotation whose new secret was never displayed: it revokes the successor
// and restores the old key.
func (s *Store) UndoRotation(ctx context.Context, by petcat.Actor, before petcat.Key) error {
	return s.Change(ctx, "undo rotation", func(t *Tx) error {
		_, err := t.updateKey(before.ID, by, "key.undo_rotation", func(k petcat.Key) (petcat.Key, detail, error) {
			if k.Successor == 0 {
				return k, nil, nil
			}
			_, err := t.changeKey(by, k.Successor, petcat.RevokeKey)
			k.ExpiresAt, k.Successor = before.ExpiresAt, 0
			return k, nil, err
		})
		return err
	})
}

// EditKey implements [petcat.KeyStore].
func (s *Store) EditKey(ctx context.Context, by petcat.Actor, id petcat.KeyID, e petcat.KeyEdit) (petcat.Key, error) {
	return change(ctx, s, Work{Doing: "edit key"}, func(t *Tx) (petcat.Key, error) {
		return t.updateKey(id, by, "key.edit", func(k petcat.Key) (petcat.Key, detail, error) {
			k, err := e.Apply(k)
			return k, keyDetail(k), err
		})
	})
}

// ChangeKey implements [petcat.KeyStore].
func (s *Store) ChangeKey(ctx context.Context, by petcat.Actor, id petcat.KeyID, action petcat.KeyAction) (petcat.Key, error) {
	return change(ctx, s, Work{Doing: "change key"}, func(t *Tx) (petcat.Key, error) { return t.changeKey(by, id, action) })
}

func (t *Tx) changeKey(by petcat.Actor, id petcat.KeyID, action petcat.KeyAction) (petcat.Key, error) {
	return t.updateKey(id, by, "key."+string(action), func(k petcat.Key) (petcat.Key, detail, error) {
		k, err := action.Apply(k, t.now)
		return k, nil, err
	})
}

// updateKey replaces a key by the result of apply, unless the key is unchanged.
func (t *Tx) updateKey(id petcat.KeyID, by petcat.Actor, action string, apply func(petcat.Key) (petcat.Key, detail, error)) (petcat.Key, error) {
	const update = `UPDATE api_keys SET label = ?, expires_at = ?, disabled_at = ?, revoked_at = ?, successor_id = ?, revision = ? WHERE id = ?`
	before, err := keyByID(t, id)
	if err != nil {
		return before, err
	}
	k, d, err := apply(before)
	if err != nil || k == before {
		return k, err
	}
	return k, t.write(entry{by, action, id.String(), d}, update,
		k.Label, millis(k.ExpiresAt), millis(k.DisabledAt), millis(k.RevokedAt), int64(k.Successor), t.reviseAccess(), int64(id))
}

// revokeAll revokes all keys of an account and returns their number. There may be thousands, and
// the lock blocks other writes, so it takes few round trips.
func (t *Tx) revokeAll(by petcat.Actor, account petcat.AccountID, d detail) (revoked int, err error) {
	const live = `SELECT id FROM api_keys WHERE account_id = ? AND revoked_at IS NULL ORDER BY id`
	const revoke = `UPDATE api_keys SET revoked_at = ?, revision = ? WHERE id = ?`
	ids, err := all(t, oneColumn[int64], live, int64(account))
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	subjects := make([]string, len(ids))
	for i, id := range ids {
		subjects[i] = petcat.KeyID(id).String()
	}
	if err := t.ExecEach(revoke, rowsOf(ids, func(id *int64) []any { return []any{t.now.UnixMilli(), t.reviseAccess(), *id} })); err != nil {
		return 0, err
	}
	return len(ids), t.record(by, "key."+string(petcat.RevokeKey), d, subjects...)
}

const selectKeyAccess = `SELECT hash, id, account_id, expires_at, read_only, disabled_at IS NOT NULL, revoked_at IS NOT NULL FROM api_keys`

func keyAccessInto(k *petcat.KeyAccess) []any {
	return []any{(*hash)(&k.Hash), (*int64)(&k.ID), (*int64)(&k.Account), (*moment)(&k.ExpiresAt), &k.ReadOnly, &k.Disabled, &k.Revoked}
}

// EachKeyAccess implements [petcat.AccessStore].
func (s *Store) EachKeyAccess(ctx context.Context, fn func(petcat.KeyAccess) error) error {
	return each(ctx, s, "read the keys", keyAccessInto, fn, selectKeyAccess)
}

// AccessChangesSince implements [petcat.AccessStore]. It reads the counter first. If no account,
// key or ban has changed since, that is all, even if categories were created. The other queries
// may also return later changes: the next call returns them again, so none is missed.
func (s *Store) AccessChangesSince(ctx context.Context, after petcat.Revision) (petcat.AccessChange, error) {
	const since = ` WHERE revision > ? ORDER BY revision`
	return read(ctx, s, "read changes of access", func(c Conn) (found petcat.AccessChange, err error) {
		n, err := one(c, (*Sequences).Into, nil, SelectSequences)
		found.Revision = petcat.Revision(n.Revision)
		if err != nil || n.Access <= int64(after) {
			return found, err
		}
		if found.Keys, err = all(c, keyAccessInto, selectKeyAccess+since, int64(after)); err != nil {
			return found, err
		}
		if found.Accounts, err = all(c, accountInto, `SELECT `+accountColumns+` FROM accounts`+since, int64(after)); err != nil {
			return found, err
		}
		found.Bans, err = all(c, banInto, selectBans+since, int64(after))
		return found, err
	})
}

// Revision implements [petcat.AccessStore].
func (s *Store) Revision(ctx context.Context) (petcat.Revision, error) {
	n, err := read(ctx, s, "read the revision", func(c Conn) (Sequences, error) { return one(c, (*Sequences).Into, nil, SelectSequences) })
	return petcat.Revision(n.Revision), err
}
