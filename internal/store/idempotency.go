package store

import (
	"cmp"
	"context"
	"crypto/sha256"

	"petcat"
)

// request identifies a create, with or without an idempotency key.
type request struct {
	scopedKey                     // its key is "" if the caller sent none
	fingerprint [sha256.Size]byte // used only with a key
}

// scopedKey is an idempotency key of one account. Other accounts may use the same text.
type scopedKey struct {
	account petcat.AccountID
	key     petcat.IdempotencyKey
}

// claim rejects a create while another one with the same key is in flight in this process. A
// create on another node waits for the commit instead, and then finds the key in the database.
// If a caller disconnects, the key is removed while its write still runs.
func (s *Store) claim(k scopedKey) (end func(), err error) {
	if k.key == "" {
		return func() {}, nil
	}
	if _, running := s.inFlight.LoadOrStore(k, nil); running {
		return nil, errInProgress()
	}
	return func() { s.inFlight.Delete(k) }, nil
}

func errInProgress() error {
	return petcat.Errorf(petcat.CodeIdempotencyInProgress, "the first request with this Idempotency-Key is still running; retry in a moment")
}

// createOnce runs a caller's create in its own transaction. See [Tx.once].
func (s *Store) createOnce(ctx context.Context, doing string, r request, create func(*Tx) (id int64, err error)) (earlier, error) {
	end, err := s.claim(r.scopedKey)
	if err != nil {
		return earlier{}, err
	}
	defer end()
	e, err := change(ctx, s, Work{doing, r.account}, func(t *Tx) (earlier, error) { return t.once(r, create) })
	return e, callerError(err, "retry it later with the same Idempotency-Key")
}

// once calls do unless an earlier request with the same idempotency key succeeded. It returns
// that request, or a new one with the id that do returned. An id of 0 is not stored.
func (t *Tx) once(r request, do func(*Tx) (id int64, err error)) (e earlier, err error) {
	found, err := t.recall([]request{r})
	if err != nil || found[0].known {
		return found[0], cmp.Or(err, found[0].conflict)
	}
	if e.id, err = do(t); err != nil || e.id == 0 {
		return e, err
	}
	return e, t.remember([]request{r}, map[int]int64{0: e.id})
}

// earlier is an earlier request with the same idempotency key. The column category_id also has
// ids of pets and orders. The fingerprint includes the operation, so ids of different resources
// are never confused.
type earlier struct {
	known    bool
	id       int64
	conflict error // the requests differ
}

// recall returns the earlier request with the same idempotency key for each request. A key
// expires when [Store.Clean] deletes it.
func (t *Tx) recall(requests []request) ([]earlier, error) {
	const query = `SELECT category_id, fingerprint FROM idempotency_keys WHERE account_id = ? AND key = ?`
	found := make([]earlier, len(requests))
	var keyed []int
	var rows [][]any
	for i, r := range requests {
		if r.key != "" {
			keyed = append(keyed, i)
			rows = append(rows, []any{int64(r.account), string(r.key)})
		}
	}
	err := t.QueryEach(func(row int, scan Scan) error {
		i := keyed[row]
		e := &found[i]
		var fingerprint hash
		err := scan(&e.id, &fingerprint)
		if e.known = true; fingerprint != requests[i].fingerprint {
			e.conflict = errKeyReused()
		}
		return err
	}, query, rows)
	return found, err
}

// remember stores the idempotency keys of requests with the ids of the created resources, by
// index of the request.
func (t *Tx) remember(requests []request, created map[int]int64) error {
	var rows [][]any
	for i, r := range requests {
		if id, ok := created[i]; ok && r.key != "" {
			rows = append(rows, []any{int64(r.account), string(r.key), r.fingerprint[:], id})
		}
	}
	return execRows(t, RowsInStatement, insertInto("idempotency_keys", "account_id, key, fingerprint, category_id"), "", rows)
}
