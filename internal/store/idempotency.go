package store

import (
	"context"
	"crypto/sha256"

	"petcat"
)

// request is what an account asked for, perhaps with an idempotency key.
type request struct {
	scopedKey                     // its key is "" when the caller sent none
	fingerprint [sha256.Size]byte // used only with a key
}

// once creates something, unless an earlier request with the same idempotency key
// did. It returns the id of what was created, and whether that earlier request did it.
func (t *Tx) once(r request, create func() (id int64, err error)) (id int64, replayed bool, err error) {
	if r.key == "" {
		id, err = create()
		return id, false, err
	}
	if id, replayed, err = t.recall(r); replayed || err != nil {
		return id, replayed, err
	}
	if id, err = create(); err == nil {
		err = t.remember(r, id)
	}
	return id, false, err
}

// recall looks for an earlier request with the same idempotency key. It returns the id of
// what that request created. The column category_id also holds ids of pets and orders: the
// fingerprint includes the operation, so an id of another kind is never returned.
func (t *Tx) recall(r request) (id int64, known bool, err error) {
	const query = `SELECT category_id, fingerprint FROM idempotency_keys WHERE account_id = ? AND key = ? AND created_at > ?`
	var fingerprint hash
	oldest := t.now.Add(-petcat.IdempotencyRetention).UnixMilli()
	known, err = t.QueryRow(query, []any{int64(r.account), string(r.key), oldest}, &id, &fingerprint)
	if known && err == nil && fingerprint != r.fingerprint {
		err = errKeyReused()
	}
	return id, known, err
}

// remember saves an idempotency key in the transaction of what its request created. It
// replaces one that has expired and was not deleted yet.
func (t *Tx) remember(r request, id int64) error {
	const put = `INSERT INTO idempotency_keys (account_id, key, fingerprint, category_id, created_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (account_id, key) DO UPDATE SET fingerprint = excluded.fingerprint, category_id = excluded.category_id, created_at = excluded.created_at`
	return t.exec(put, int64(r.account), string(r.key), r.fingerprint[:], id, t.now.UnixMilli())
}

// createOnce runs a create of a caller in a transaction of its own. It returns what
// [Tx.once] does.
func (s *Store) createOnce(ctx context.Context, doing string, r request, create func(*Tx) (id int64, err error)) (id int64, replayed bool, err error) {
	if r.key != "" {
		if !s.inFlight.begin(r.scopedKey) {
			return 0, false, errInProgress()
		}
		// The key may leave the set while its write still runs without its caller: the
		// next request with this key waits for the commit of that write, and finds the key.
		defer s.inFlight.end(r.scopedKey)
	}
	type created struct {
		id       int64
		replayed bool
	}
	c, err := changeFor(ctx, s, Work{doing, r.account}, func(t *Tx) (c created, err error) {
		c.id, c.replayed, err = t.once(r, func() (int64, error) { return create(t) })
		return c, err
	})
	return c.id, c.replayed, callerError(err, "retry it later with the same Idempotency-Key")
}

func errInProgress() error {
	return petcat.Errorf(petcat.CodeIdempotencyInProgress, "the first request with this Idempotency-Key is still running; retry in a moment")
}

func errKeyReused() error {
	return petcat.Errorf(petcat.CodeIdempotencyKeyReused, "this Idempotency-Key was used for another request; use a new key for a new request")
}
