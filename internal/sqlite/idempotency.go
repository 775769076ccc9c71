package sqlite

import (
	"crypto/sha256"
	"sync"

	"petcat"
)

// claim is an idempotency key whose first request is under way.
type claim struct {
	account petcat.AccountID
	key     petcat.IdempotencyKey
}

// claims are the idempotency keys under way in this process. Only one server
// writes categories to a file, so there are no others.
type claims struct {
	mu   sync.Mutex
	held map[claim]struct{} // guarded by mu
}

// take reports whether the key was free.
func (c *claims) take(k claim) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, held := c.held[k]; held {
		return false
	}
	c.held[k] = struct{}{}
	return true
}

func (c *claims) drop(k claim) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.held, k)
}

// release drops the claims of a group that was attempted. The writer does it and
// not the callers, because a caller may have gone away while its write went on.
func (c *claims) release(group []*op) {
	for _, o := range group {
		if k := o.create.claim(); o.change == nil && k.key != "" {
			c.drop(k)
		}
	}
}

// recall looks for an earlier request with the same idempotency key. A
// fingerprint that differs is an error.
func (t *tx) recall(k claim, fingerprint [sha256.Size]byte) (id petcat.CategoryID, known bool, err error) {
	const query = `SELECT category_id, fingerprint FROM idempotency WHERE account_id = ? AND key = ? AND created_at > ?`
	var stored []byte
	oldest := t.now.Add(-petcat.IdempotencyRetention).UnixMilli()
	known, err = found(t.get(query, []any{int64(k.account), string(k.key), oldest}, &id, &stored))
	if known && string(stored) != string(fingerprint[:]) {
		return 0, false, petcat.Errorf(petcat.CodeIdempotencyKeyReused, "this Idempotency-Key was used for another request; use a new key for a new request")
	}
	return id, known, err
}

// remember writes an idempotency key down in the transaction of its category. It
// takes the place of one that has expired and was not yet deleted.
func (t *tx) remember(k claim, fingerprint [sha256.Size]byte, id petcat.CategoryID) error {
	const insert = `INSERT OR REPLACE INTO idempotency (account_id, key, fingerprint, category_id, created_at) VALUES (?, ?, ?, ?, ?)`
	return t.exec(insert, int64(k.account), string(k.key), fingerprint[:], int64(id), t.now.UnixMilli())
}
