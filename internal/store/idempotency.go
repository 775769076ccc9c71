package store

import (
	"github.com/petcat-api/petcat"
)

// scopedKey is an idempotency key of one account. Other accounts may use the same text.
type scopedKey struct {
	account petcat.AccountID
	key     petcat.IdempotencyKey
}

// claim rejects a create while another one with the same key is in flight in this process. A
// create on another node waits for the commit instead, and then finds the key in the database.
// If a client disconnects, the key is removed while its write still runs.
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
	return petcat.Errorf(petcat.CodeIdempotencyInProgress,
		"the first request with this Idempotency-Key is still running; retry in a moment")
}

func errKeyReused() error {
	return petcat.Errorf(petcat.CodeIdempotencyKeyReused,
		"this Idempotency-Key was used for another request; use a new key for a new request")
}

// made is an earlier request with the same idempotency key.
type made struct {
	fingerprint hash  // of the operation and its input, so ids of different resources are never confused
	id          int64 // of the resource that it created or changed
}

func scanMade(row Row) (m made, err error) {
	err = row.Scan(&m.fingerprint, &m.id)
	return m, err
}

const (
	selectIdempotencyKey = `
		SELECT fingerprint, result_id FROM idempotency_keys
		WHERE account_id = $1 AND key = $2`

	insertIdempotencyKey = `
		INSERT INTO idempotency_keys (account_id, key, fingerprint, result_id)
		VALUES ($1, $2, $3, $4)`
)

// findReplays finds the earlier requests with the idempotency keys of a create group. A key
// expires when [Store.Clean] deletes it.
func (t *Tx) findReplays(group []*Create) error {
	var keyed []*Create
	var args [][]any
	for _, c := range group {
		if c.Key != "" {
			keyed = append(keyed, c)
			args = append(args, []any{c.Account, c.Key})
		}
	}
	return t.QueryEach(func(i int, row Scan) error {
		earlier, err := scanMade(row)
		if err != nil {
			return err
		}
		c := keyed[i]
		if earlier.fingerprint != c.New.Fingerprint() {
			c.Outcome = errKeyReused()
			return nil
		}
		c.ID, c.Replayed = earlier.id, true
		return nil
	}, selectIdempotencyKey, args)
}

// idempotencyRow returns the arguments of insertIdempotencyKey for a create.
func idempotencyRow(c *Create) []any {
	fingerprint := c.New.Fingerprint()
	return []any{
		c.Account,
		c.Key,
		fingerprint[:],
		c.ID,
	}
}
