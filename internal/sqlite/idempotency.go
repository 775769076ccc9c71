package sqlite

import (
	"crypto/sha256"

	"petcat"
	"petcat/internal/claim"
)

// release drops the claims of a group that was attempted. Only one server writes
// categories to a file, so there are no other claims.
func (s *Store) release(group []*op) {
	for _, o := range group {
		if k := o.create.claim(); o.change == nil && k.Key != "" {
			s.claims.Drop(k)
		}
	}
}

// recall looks for an earlier request with the same idempotency key. A
// fingerprint that differs is an error.
func (t *tx) recall(k claim.Claim, fingerprint [sha256.Size]byte) (id petcat.CategoryID, known bool, err error) {
	const query = `SELECT category_id, fingerprint FROM idempotency WHERE account_id = ? AND key = ? AND created_at > ?`
	var stored []byte
	oldest := t.now.Add(-petcat.IdempotencyRetention).UnixMilli()
	known, err = found(t.get(query, []any{int64(k.Account), string(k.Key), oldest}, &id, &stored))
	if known && string(stored) != string(fingerprint[:]) {
		return 0, false, petcat.Errorf(petcat.CodeIdempotencyKeyReused, "this Idempotency-Key was used for another request; use a new key for a new request")
	}
	return id, known, err
}

// remember writes an idempotency key down in the transaction of its category. It
// takes the place of one that has expired and was not yet deleted.
func (t *tx) remember(k claim.Claim, fingerprint [sha256.Size]byte, id petcat.CategoryID) error {
	const insert = `INSERT OR REPLACE INTO idempotency (account_id, key, fingerprint, category_id, created_at) VALUES (?, ?, ?, ?, ?)`
	return t.exec(insert, int64(k.Account), string(k.Key), fingerprint[:], int64(id), t.now.UnixMilli())
}
