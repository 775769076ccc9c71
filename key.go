package petcat

import (
	"context"
	"io"
	"strconv"
	"time"
)

// KeyID identifies a key: from 1, never reused. It is not secret.
type KeyID int64

const keyIDPrefix = "key_"

// String returns the form that operators see, such as key_34.
func (id KeyID) String() string { return keyIDPrefix + strconv.FormatInt(int64(id), 10) }

// ParseKeyID parses an id such as key_34, in any case. It returns an [Error] with [CodeInvalidField].
func ParseKeyID(s string) (KeyID, error) {
	id, isID := cutID(keyIDPrefix, s)
	if !isID {
		// The message does not repeat the input, which may be the key itself.
		return 0, Errorf(CodeInvalidField, "a key's id looks like key_34")
	}
	return KeyID(id), nil
}

// Key is a bearer credential of an account, without its secret, of which only a hash is stored.
type Key struct {
	ID         KeyID
	Account    AccountID
	Label      string
	Hint       string // the last characters of the secret's random part, to identify the key
	ReadOnly   bool   // rejected by every operation that [Operation.Writes]
	Networks   Networks
	CreatedAt  time.Time
	ExpiresAt  time.Time // zero: never
	DisabledAt time.Time // zero: enabled
	RevokedAt  time.Time // zero: not revoked
	LeakedAt   time.Time // when its secret was last reported as leaked; zero: never
	Successor  KeyID     // the key that replaced it in a rotation, or 0
	UsedAt     time.Time // the last use, in whole seconds; zero: never
}

// KeyState is the state of a key. Only an active key works.
type KeyState string

// The states of a key.
const (
	KeyActive   KeyState = "active"
	KeyExpired  KeyState = "expired"
	KeyDisabled KeyState = "disabled"
	KeyRevoked  KeyState = "revoked"
)

// State returns the key's state at now. Permanent states take precedence.
func (k Key) State(now time.Time) KeyState {
	switch {
	case !k.RevokedAt.IsZero():
		return KeyRevoked
	case !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt):
		return KeyExpired
	case !k.DisabledAt.IsZero():
		return KeyDisabled
	default:
		return KeyActive
	}
}

// Err returns the error for a client with a key in this state, nil for an active one. Only a client that
// sent the whole secret may see it.
func (s KeyState) Err() error {
	switch s {
	case KeyRevoked:
		return Errorf(CodeRevokedAPIKey, "this API key was revoked; use another one")
	case KeyExpired:
		return Errorf(CodeExpiredAPIKey, "this API key has expired; use its successor or ask for a new one")
	case KeyDisabled:
		return Errorf(CodeDisabledAPIKey, "this API key is disabled, perhaps because it was reported as leaked; "+
			"use another one, or ask the operator to enable it")
	default:
		return nil
	}
}

// KeyTerms are the properties of a key that its creator chooses.
type KeyTerms struct {
	Label     string    // the operator's note on the key, or ""
	ExpiresAt time.Time // zero: never
	ReadOnly  bool
	Networks  Networks
}

// MaxKeyLabel is the maximum length of a label, in characters.
const MaxKeyLabel = 200

// checkKeyLabel returns an [Error] with [CodeInvalidField] for an invalid label.
func checkKeyLabel(text string) error {
	label := textRule{
		field:    "label",
		called:   "the label",
		maxRunes: MaxKeyLabel,
		blank:    true,
		distinct: true,
	}
	return label.check(text)
}

// MinLife is how far an expiry must be in the future. A shorter life is a mistake: the credential could
// not be used.
const MinLife = time.Minute

// CheckExpiry returns an [Error] with [CodeInvalidField] unless an expiry is zero or at least [MinLife]
// after now.
func CheckExpiry(expiry, now time.Time) error {
	if !expiry.IsZero() && expiry.Before(now.Add(MinLife)) {
		return Errorf(CodeInvalidField, "the expiry must be at least a minute in the future (got %s)",
			expiry.UTC().Format(time.RFC3339))
	}
	return nil
}

// KeyGenerator makes the keys of an environment.
type KeyGenerator struct {
	Environment Environment
	Random      io.Reader // as in [GenerateKey]
}

// NewKey is a valid key to be created. Only [KeyGenerator.NewKey] makes one.
type NewKey struct {
	account   AccountID
	terms     KeyTerms
	generated GeneratedKey
}

// NewKey returns a new key of an account, and its secret. It returns an [Error] with
// [CodeInvalidField] for an invalid label.
func (g KeyGenerator) NewKey(account AccountID, terms KeyTerms) (NewKey, Secret, error) {
	if err := checkKeyLabel(terms.Label); err != nil {
		return NewKey{}, Secret{}, err
	}
	generated, err := GenerateKey(g.Environment, g.Random)
	return NewKey{account: account, terms: terms, generated: generated}, generated.Secret, err
}

// Account returns the account of the key.
func (n NewKey) Account() AccountID { return n.account }

// Generated returns the secret with its hash and hint.
func (n NewKey) Generated() GeneratedKey { return n.generated }

// Apply returns the key, without its id, as it is created at now. If its expiry is not after now, Apply
// returns an [Error] with [CodeInvalidField]. A repeated request is not checked again: see [Result].
func (n NewKey) Apply(now time.Time) (Key, error) {
	k := Key{
		Account:   n.account,
		Label:     n.terms.Label,
		Hint:      n.generated.Hint,
		ReadOnly:  n.terms.ReadOnly,
		Networks:  n.terms.Networks,
		CreatedAt: now,
		ExpiresAt: n.terms.ExpiresAt,
	}
	return k, CheckExpiry(k.ExpiresAt, now)
}

// KeyQuery selects a page of keys, newest first.
type KeyQuery struct {
	Account AccountID // 0: any
	Hint    string    // "": any
	Before  KeyID     // only lower ids; 0: from the newest
	Limit   int       // 0: all
}

// KeyStore keeps keys. Every change commits together with its audit entry, and
// reaches the servers as an [AccessChange]. After [MaxCustomerChanges], a customer's changes return an
// [Error] with [CodeTooManyChanges]; it can only revoke keys.
type KeyStore interface {
	// CreateKey returns an [Error] with [CodeNotFound] if the account does not exist, and with
	// [CodeConflict] if it is closed; with [CodeInvalidField] if its customer already has
	// [MaxCustomerKeys], or if the key would have expired.
	CreateKey(ctx context.Context, by Author, k NewKey) (Result[Key], error)
	// FindKey returns an [Error] with [CodeNotFound] if the key does not exist.
	FindKey(ctx context.Context, id KeyID) (Key, error)
	// FindKeys returns the keys with these hashes, in their order. Unknown hashes are skipped.
	FindKeys(ctx context.Context, hashes []KeyHash) ([]Key, error)
	// RotateKey returns both keys. See [Rotation.Apply]. It revokes a successor that the rotation takes the
	// place of. It returns an [Error] with [CodeNotFound] or [CodeConflict].
	RotateKey(ctx context.Context, by Author, r Rotation) (Result[RotatedKey], error)
	// ChangeKey returns the key after the action. See [KeyAction.Apply]. It
	// returns an [Error] with [CodeNotFound] or [CodeConflict].
	ChangeKey(ctx context.Context, by Author, id KeyID, a KeyAction) (Result[Key], error)
	// EditKey returns the key after the change. See [KeyEdit.Apply]. It returns the same errors
	// as ChangeKey.
	EditKey(ctx context.Context, by Author, id KeyID, e KeyEdit) (Result[Key], error)
	// KeyPage returns a page of keys.
	KeyPage(ctx context.Context, q KeyQuery) ([]Key, error)
}
