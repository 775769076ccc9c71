package petcat

import "time"

const (
	// MaxOverlap is the maximum time for which both keys of a rotation work.
	MaxOverlap = 30 * 24 * time.Hour
	// MinOwnOverlap is the minimum of a rotation by a program with the key itself: it must be able to
	// rotate again if the response is lost.
	MinOwnOverlap = 5 * time.Minute
	// DefaultOverlap is the overlap if a request does not set one.
	DefaultOverlap = 24 * time.Hour
	// RotationPause is the time after a rotation in which a program cannot rotate the key again. Within it
	// the store learns that another program uses the successor, which is recorded up to a second late.
	RotationPause = 5 * time.Second
)

// lastExpiry is the end of the year 9999, the last year of RFC 3339, in Unix milliseconds.
const lastExpiry = 253_402_300_799_000

// Rotation replaces a key with a new one. Only [KeyGenerator.Rotation] and [KeyGenerator.OwnRotation]
// make valid ones.
type Rotation struct {
	key       KeyID
	overlap   time.Duration
	own       bool
	generated GeneratedKey
}

// Rotation returns a rotation of a key, and the secret of its successor. It returns an [Error]
// with [CodeInvalidField] unless the overlap is from 0 to [MaxOverlap].
func (g KeyGenerator) Rotation(key KeyID, overlap time.Duration) (Rotation, Secret, error) {
	if overlap < 0 || overlap > MaxOverlap {
		return Rotation{}, Secret{}, errOverlap("0", overlap)
	}
	generated, err := GenerateKey(g.Environment, g.Random)
	return Rotation{key: key, overlap: overlap, generated: generated}, generated.Secret, err
}

// OwnRotation is [KeyGenerator.Rotation] by a program with the key itself. The overlap is at least
// [MinOwnOverlap].
func (g KeyGenerator) OwnRotation(key KeyID, overlap time.Duration) (Rotation, Secret, error) {
	if overlap < MinOwnOverlap || overlap > MaxOverlap {
		return Rotation{}, Secret{}, errOverlap("5 minutes", overlap)
	}
	r, secret, err := g.Rotation(key, overlap)
	r.own = true
	return r, secret, err
}

func errOverlap(least string, got time.Duration) error {
	return Errorf(CodeInvalidField, "the overlap must be from %s to 30 days (got %s)", least, got)
}

// Key returns the key to replace.
func (r Rotation) Key() KeyID { return r.key }

// Generated returns the secret of the successor, with its hash and hint.
func (r Rotation) Generated() GeneratedKey { return r.generated }

// Apply returns the old key after the rotation at now, and the new key without its id. lost is the key that
// replaced the old one before, the zero Key if there is none.
//
// The old key works until the overlap ends, but never longer than before. The new one gets its label,
// networks and lifetime, and is read-only if the old one is. If the old key is not active, or has a
// successor, Apply returns an [Error] with [CodeConflict]. But with the key itself, a program may rotate it
// again after [RotationPause] if the successor is active and was never used: the response was lost. The new
// key takes the place of the lost one, which must be revoked.
func (r Rotation) Apply(old, lost Key, now time.Time) (oldAfter, successor Key, err error) {
	if state := old.State(now); state != KeyActive {
		return Key{}, Key{}, Errorf(CodeConflict,
			"the key %s is %s and cannot be rotated; create a new key instead", old.ID, state)
	}
	lasting := old // has the lifetime
	if old.Successor != 0 {
		if err := r.checkLost(old, lost, now); err != nil {
			return Key{}, Key{}, err
		}
		lasting = lost
	}
	successor = Key{
		Account:   old.Account,
		Label:     old.Label,
		Hint:      r.generated.Hint,
		ReadOnly:  old.ReadOnly,
		Networks:  old.Networks,
		CreatedAt: now,
	}
	if !lasting.ExpiresAt.IsZero() {
		// In milliseconds, because a [time.Duration] cannot exceed 292 years.
		life := lasting.ExpiresAt.UnixMilli() - lasting.CreatedAt.UnixMilli()
		successor.ExpiresAt = time.UnixMilli(min(now.UnixMilli()+life, lastExpiry)).UTC()
	}
	if end := now.Add(r.overlap); old.ExpiresAt.IsZero() || end.Before(old.ExpiresAt) {
		old.ExpiresAt = end
	}
	return old, successor, nil
}

// checkLost returns an [Error] with [CodeConflict] unless a rotation may take the place of an earlier one,
// whose response was lost.
func (r Rotation) checkLost(old, lost Key, now time.Time) error {
	rotated := Errorf(CodeConflict,
		"the key %s was rotated already; rotate its successor %s", old.ID, old.Successor)
	if !r.own || lost.State(now) != KeyActive || !lost.UsedAt.IsZero() {
		return rotated
	}
	if wait := lost.CreatedAt.Add(RotationPause).Sub(now); wait > 0 {
		return Errorf(CodeConflict,
			"the key %s was rotated a moment ago; if the new key is lost, rotate again when Retry-After has passed",
			old.ID).After(wait)
	}
	return nil
}

// RotatedKey is a replaced key and its successor.
type RotatedKey struct{ Old, New Key }
