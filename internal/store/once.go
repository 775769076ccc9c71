package store

import (
	"github.com/petcat-api/petcat"
)

// authorsAccount is the account of all authors' idempotency keys. Keys of other accounts are from API
// creates.
const authorsAccount petcat.AccountID = 0

// onceKey returns the key of the author's change. It is unique, because a key does not contain spaces.
func onceKey(by petcat.Author) petcat.IdempotencyKey {
	return petcat.IdempotencyKey(by.Actor) + " " + by.Key
}

// replays returns the id of the resource that an earlier request of the author with the same
// idempotency key created or changed, 0 if there is none.
func (t *Tx) replays(by petcat.Author, action string) (id int64, err error) {
	if by.Key == "" {
		return 0, nil
	}
	earlier, err := queryRow(t, scanMade, nil, selectIdempotencyKey, authorsAccount, onceKey(by))
	if err != nil {
		return 0, err
	}
	if earlier.id != 0 && earlier.fingerprint != by.Fingerprint(action) {
		return 0, errKeyReused()
	}
	return earlier.id, nil
}

// replayed returns the resource of an earlier request, which find reads, or the error of
// [Tx.replays].
func replayed[T any, ID ~int64](
	tx *Tx, id int64, err error, find func(Querier, ID) (T, error),
) (r petcat.Result[T], _ error) {
	if err != nil {
		return r, err
	}
	r.Replayed = true
	if r.Value, err = find(tx, ID(id)); err != nil {
		return r, err
	}
	return r, tx.Commit()
}

// commitOnce stores the author's idempotency key with the id of the resource, and commits.
func (t *Tx) commitOnce(by petcat.Author, action string, id int64) error {
	if by.Key != "" {
		fingerprint := by.Fingerprint(action)
		if err := t.Run(insertIdempotencyKey, authorsAccount, onceKey(by), fingerprint[:], id); err != nil {
			return err
		}
	}
	return t.Commit()
}
