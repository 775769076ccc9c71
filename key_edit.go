package petcat

import "time"

// KeyAction is a change to a key's state.
type KeyAction string

// The key actions.
const (
	DisableKey KeyAction = "disable"
	EnableKey  KeyAction = "enable"
	RevokeKey  KeyAction = "revoke"
	// ReportLeakedKey disables a key whose secret was found and reported.
	ReportLeakedKey KeyAction = "report_leaked"
)

// Apply returns the key after the action at now. Actions are idempotent. Enabling or disabling
// a revoked key is an [Error] with [CodeConflict].
func (a KeyAction) Apply(k Key, now time.Time) (Key, error) {
	if err := k.checkNotRevoked(); err != nil {
		if a == RevokeKey || a == ReportLeakedKey {
			return k, nil
		}
		return Key{}, err
	}
	switch a {
	case ReportLeakedKey:
		if k.DisabledAt.IsZero() || k.LeakedAt.IsZero() {
			k.LeakedAt = now
		}
		if k.DisabledAt.IsZero() {
			k.DisabledAt = now
		}
	case DisableKey:
		if k.DisabledAt.IsZero() {
			k.DisabledAt = now
		}
	case EnableKey:
		k.DisabledAt = time.Time{}
	case RevokeKey:
		k.RevokedAt = now
	}
	return k, nil
}

// KeyEdit changes a key's label, expiry and networks. Only [ParseKeyEdit] makes a valid one.
type KeyEdit struct {
	label     *string
	expiresAt *time.Time
	networks  *Networks
}

// ParseKeyEdit validates a label as [KeyGenerator.NewKey] does. Fields that are nil stay unchanged.
func ParseKeyEdit(label *string, expiresAt *time.Time, networks *Networks) (KeyEdit, error) {
	if label != nil {
		if err := checkKeyLabel(*label); err != nil {
			return KeyEdit{}, err
		}
	}
	return KeyEdit{label: label, expiresAt: expiresAt, networks: networks}, nil
}

// Apply returns the key after a change by an actor at now. It returns an [Error] with
// [CodeInvalidField] for an expiry that is not after now, and with [CodeConflict] for a revoked key, and
// for an expiry that would revive a key or extend the overlap of a replaced one. Only operators extend an expired key.
func (e KeyEdit) Apply(k Key, by Actor, now time.Time) (Key, error) {
	if err := k.checkNotRevoked(); err != nil {
		return Key{}, err
	}
	if e.label != nil {
		k.Label = *e.label
	}
	if e.networks != nil {
		k.Networks = *e.networks
	}
	if e.expiresAt == nil {
		return k, nil
	}
	if err := CheckExpiry(*e.expiresAt, now); err != nil {
		return Key{}, err
	}
	expiry := e.expiresAt.UTC().Truncate(time.Millisecond)
	if err := k.checkNewExpiry(expiry, by, now); err != nil {
		return Key{}, err
	}
	k.ExpiresAt = expiry
	return k, nil
}

// checkNotRevoked returns an [Error] with [CodeConflict] for a revoked key.
func (k Key) checkNotRevoked() error {
	if !k.RevokedAt.IsZero() {
		return Errorf(CodeConflict, "the key %s was revoked permanently; create a new key instead", k.ID)
	}
	return nil
}

// checkNewExpiry returns an [Error] with [CodeConflict] unless an actor may give a key, which is
// not revoked, another expiry; zero: never.
func (k Key) checkNewExpiry(expiry time.Time, by Actor, now time.Time) error {
	switch {
	case expiry.Equal(k.ExpiresAt):
		return nil
	case k.Successor != 0 && (expiry.IsZero() || expiry.After(k.ExpiresAt)):
		return Errorf(CodeConflict, "the key %s was replaced by %s, and its overlap can only be shortened",
			k.ID, k.Successor)
	case k.State(now) == KeyExpired && by == k.Account.Actor():
		return Errorf(CodeConflict, "the key %s has expired; create a new key instead", k.ID)
	default:
		return nil
	}
}
