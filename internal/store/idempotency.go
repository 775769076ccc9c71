package store

import (
	"context"
	"crypto/sha256"
	"sync"

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
	requests := []request{r}
	earlier, err := t.recall(requests)
	if err != nil || earlier[0].known {
		if err == nil && earlier[0].fingerprint != r.fingerprint {
			err = errKeyReused()
		}
		return earlier[0].id, true, err
	}
	id, err = create()
	if err != nil {
		return 0, false, err
	}
	return id, false, t.remember(requests, map[int]int64{0: id})
}

// earlier is an earlier request with the same idempotency key. The column category_id also
// holds ids of pets and orders: the fingerprint includes the operation, so an id of another
// kind is never used.
type earlier struct {
	known       bool
	id          int64
	fingerprint hash
}

// recall looks for earlier requests with the same idempotency keys, one for each.
func (t *Tx) recall(requests []request) ([]earlier, error) {
	const query = `SELECT category_id, fingerprint FROM idempotency_keys WHERE account_id = ? AND key = ? AND created_at > ?`
	found := make([]earlier, len(requests))
	var keyed []int
	var rows [][]any
	for i, r := range requests {
		if r.key != "" {
			keyed = append(keyed, i)
			rows = append(rows, []any{int64(r.account), string(r.key), t.now.Add(-petcat.IdempotencyRetention).UnixMilli()})
		}
	}
	err := t.QueryEach(func(row int, scan Scan) error {
		e := &found[keyed[row]]
		e.known = true
		return scan(&e.id, &e.fingerprint)
	}, query, rows)
	return found, err
}

// remember saves the idempotency keys of requests, in the transaction of what they created:
// ids by the position of the request. It replaces keys that have expired and were not deleted
// yet.
func (t *Tx) remember(requests []request, created map[int]int64) error {
	const (
		insert  = `INSERT INTO idempotency_keys (account_id, key, fingerprint, category_id, created_at) VALUES`
		replace = ` ON CONFLICT (account_id, key) DO UPDATE SET fingerprint = excluded.fingerprint, category_id = excluded.category_id, created_at = excluded.created_at`
	)
	var rows [][]any
	for i, r := range requests {
		if id, ok := created[i]; ok && r.key != "" {
			rows = append(rows, []any{int64(r.account), string(r.key), r.fingerprint[:], id, t.now.UnixMilli()})
		}
	}
	return execRows(t, insert, replace, rows)
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

// scopedKey is an idempotency key of one account: the same text of another account is
// another key.
type scopedKey struct {
	account petcat.AccountID
	key     petcat.IdempotencyKey
}

// inFlight is the set of keys whose first request is in flight in this process. A second
// request with the same key is refused immediately, and no batch of a group commit has a
// key twice. The queue of writes bounds its size. The zero value is empty and ready.
type inFlight struct {
	mu   sync.Mutex
	keys map[scopedKey]struct{} // guarded by mu; nil: there never was one
}

// begin adds a key, and reports whether it was not in flight yet.
func (f *inFlight) begin(k scopedKey) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, begun := f.keys[k]; begun {
		return false
	}
	if f.keys == nil {
		f.keys = make(map[scopedKey]struct{})
	}
	f.keys[k] = struct{}{}
	return true
}

// end removes a key.
func (f *inFlight) end(k scopedKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.keys, k)
}
