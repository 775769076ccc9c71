package store

import (
	"petcat"
)

// recall looks for an earlier request with the same idempotency key. It reports
// whether there was one, and then the create has its answer.
func (t *Tx) recall(c *Create) (known bool, err error) {
	const query = `SELECT category_id, fingerprint FROM idempotency WHERE account_id = ? AND key = ? AND created_at > ?`
	var id petcat.CategoryID
	var fingerprint hash
	oldest := t.now.Add(-petcat.IdempotencyRetention).UnixMilli()
	known, err = t.QueryRow(query, []any{int64(c.Account), string(c.IdempotencyKey), oldest}, (*int64)(&id), &fingerprint)
	if err != nil || !known {
		return known, err
	}
	return true, c.Repeats(id, fingerprint == c.Fingerprint)
}

// remember writes an idempotency key down in the transaction of its category. It
// takes the place of one that has expired and was not yet deleted.
func (t *Tx) remember(c *Create, id petcat.CategoryID) error {
	const put = `INSERT INTO idempotency (account_id, key, fingerprint, category_id, created_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (account_id, key) DO UPDATE SET fingerprint = excluded.fingerprint, category_id = excluded.category_id, created_at = excluded.created_at`
	return t.exec(put, int64(c.Account), string(c.IdempotencyKey), c.Fingerprint[:], int64(id), t.now.UnixMilli())
}

// Repeats says that an earlier request with the create's idempotency key made a
// category, and whether it asked for the same. It returns an error if not.
func (c *Create) Repeats(id petcat.CategoryID, same bool) error {
	if !same {
		return petcat.Errorf(petcat.CodeIdempotencyKeyReused, "this Idempotency-Key was used for another request; use a new key for a new request")
	}
	// The same fingerprint means the same texts.
	c.Created = petcat.CreatedCategory{Category: c.New.As(id), Replayed: true}
	return nil
}
