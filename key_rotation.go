package petcat

import "time"

// MaxOverlap is the maximum time for which both keys of a rotation work.
const MaxOverlap = 30 * 24 * time.Hour

// lastExpiry is the end of the year 9999, the last year of RFC 3339, in Unix milliseconds.
const lastExpiry = 253_402_300_799_000

// Rotation replaces a key with a new one. Only [KeyGenerator.Rotation] makes a valid one.
type Rotation struct {
	key       KeyID
	overlap   time.Duration
	generated GeneratedKey
}

// Rotation returns a rotation of a key, and the secret of its successor. It returns an [Error]
// with [CodeInvalidField] unless the overlap is from 0 to [MaxOverlap].
func (g KeyGenerator) Rotation(key KeyID, overlap time.Duration) (Rotation, Secret, error) {
	if overlap < 0 || overlap > MaxOverlap {
		return Rotation{}, Secret{}, Errorf(CodeInvalidField, "the overlap must be from 0 to 30 days (got %s)", overlap)
	}
	generated, err := GenerateKey(g.Environment, g.Random)
	return Rotation{key: key, overlap: overlap, generated: generated}, generated.Secret, err
}

// Key returns the key to replace.
func (r Rotation) Key() KeyID { return r.key }

// Generated returns the secret of the successor, with its hash and hint.
func (r Rotation) Generated() GeneratedKey { return r.generated }

// Apply returns the old key after the rotation at now, and the new key without its id. The
// old key works until the overlap ends, but never longer than before. The new one gets the
// old one's label and lifetime, and is read-only if the old one is. If the old key is not
// active, Apply returns an [Error] with [CodeConflict].
func (r Rotation) Apply(old Key, now time.Time) (oldAfter, successor Key, err error) {
	if state := old.State(now); state != KeyActive {
		return Key{}, Key{}, Errorf(CodeConflict,
			"the key %s is %s and cannot be rotated; create a new key instead", old.ID, state)
	}
	if old.Successor != 0 {
		return Key{}, Key{}, Errorf(CodeConflict,
			"the key %s was rotated already; rotate its successor %s", old.ID, old.Successor)
	}
	successor = Key{
		Account:   old.Account,
		Label:     old.Label,
		Hint:      r.generated.Hint,
		ReadOnly:  old.ReadOnly,
		CreatedAt: now,
	}
	end := now.Add(r.overlap)
	if !old.ExpiresAt.IsZero() {
		// In milliseconds, because a [time.Duration] cannot exceed 292 years.
		life := old.ExpiresAt.UnixMilli() - old.CreatedAt.UnixMilli()
		successor.ExpiresAt = time.UnixMilli(min(now.UnixMilli()+life, lastExpiry)).UTC()
		if old.ExpiresAt.Before(end) {
			end = old.ExpiresAt
		}
	}
	old.ExpiresAt = end
	return old, successor, nil
}

// RotatedKey is a replaced key and its successor.
type RotatedKey struct{ Old, New Key }
