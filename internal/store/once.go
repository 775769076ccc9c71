package store

import (
	"petcat"
)

const (
	selectOnce = `SELECT fingerprint, category_id FROM idempotency_keys WHERE account_id = 0 AND key = $1`
	insertOnce = `INSERT INTO idempotency_keys (account_id, key, fingerprint, category_id) VALUES (0, $1, $2, $3)`
)

// made is an author's change that was made before.
type made struct {
	fingerprint hash
	id          int64 // of the resource
}

func scanMade(row Row) (m made, err error) {
	err = row.Scan(&m.fingerprint, &m.id)
	return m, err
}

// onceKey returns the key of the author's change. It is unique, because a key has no spaces.
func onceKey(by petcat.Author) string { return string(by.Actor) + " " + string(by.Key) }

// replays returns the id of the resource that an earlier request of the author with the same
// idempotency key created or changed, 0 if there is none.
func (t *Tx) replays(by petcat.Author, action string) (id int64, err error) {
	if by.Key == "" {
		return 0, nil
	}
	earlier, err := queryRow(t, scanMade, nil, selectOnce, onceKey(by))
	if err != nil {
		return 0, err
	}
	if earlier.id != 0 && earlier.fingerprint != by.Fingerprint(action) {
		return 0, errKeyReused()
	}
	return earlier.id, nil
}

// commitOnce stores the author's idempotency key with the id of the resource, and commits.
func (t *Tx) commitOnce(by petcat.Author, action string, id int64) error {
	if by.Key != "" {
		fingerprint := by.Fingerprint(action)
		if err := t.run(insertOnce, onceKey(by), fingerprint[:], id); err != nil {
			return err
		}
	}
	return t.Commit()
}

func errKeyReused() error {
	return petcat.Errorf(petcat.CodeIdempotencyKeyReused, "this Idempotency-Key was used for another request; use a new key for a new request")
}
