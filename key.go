package petcat

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"io"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// KeyID identifies a key: from 1, never reused. It is not secret.
type KeyID int64

const keyIDPrefix = "key_"

// String returns the form that operators see, such as key_34.
func (id KeyID) String() string { return keyIDPrefix + strconv.FormatInt(int64(id), 10) }

// ParseKeyID parses an id such as key_34. It returns an [Error] with [CodeInvalidField].
func ParseKeyID(s string) (KeyID, error) {
	digits, found := strings.CutPrefix(s, keyIDPrefix)
	id, isID := ParseID(digits)
	if !found || !isID {
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
	CreatedAt  time.Time
	ExpiresAt  time.Time // zero: never
	DisabledAt time.Time // zero: enabled
	RevokedAt  time.Time // zero: not revoked
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

// Err returns the error for a caller with a key in this state, nil for an active one. Only a
// caller that sent the whole secret may see it.
func (s KeyState) Err() error {
	switch s {
	case KeyRevoked:
		return Errorf(CodeRevokedAPIKey, "this API key was revoked; use another one")
	case KeyExpired:
		return Errorf(CodeExpiredAPIKey, "this API key has expired; use its successor or ask for a new one")
	case KeyDisabled:
		return Errorf(CodeDisabledAPIKey, "this API key is disabled; ask the operator to enable it")
	default:
		return nil
	}
}

// KeyHash is the SHA-256 of a key's whole secret. A secret has 190 random bits, so the hash
// needs no salt.
type KeyHash [sha256.Size]byte

// The format of a secret: an environment's prefix, 32 random base62 characters,
// and a checksum, so that scanners and servers detect typos without a lookup. Example:
// pck_live_ + 32 + 6 characters.
const (
	keyRandomLength   = 32
	keyChecksumLength = 6
	keyHintLength     = 4
	base62            = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// MaxCredential is the maximum length of a credential, in bytes. Longer ones are
// rejected unread.
const MaxCredential = 256

// GeneratedKey is a new secret, with the hash and the hint to store.
type GeneratedKey struct {
	Secret Secret
	Hash   KeyHash
	Hint   string
}

// GenerateKey makes a secret for an environment from a source of
// cryptographically secure random bytes, normally crypto/rand.Reader.
func GenerateKey(env Environment, random io.Reader) (GeneratedKey, error) {
	text := []byte(env.keyPrefix())
	for range keyRandomLength {
		n, err := rand.Int(random, big.NewInt(int64(len(base62))))
		if err != nil {
			return GeneratedKey{}, fmt.Errorf("read random bytes: %w", err)
		}
		text = append(text, base62[n.Int64()])
	}
	hint := string(text[len(text)-keyHintLength:])
	sum := keyChecksum(text)
	text = append(text, sum[:]...)
	return GeneratedKey{Secret: NewSecret(string(text)), Hash: sha256.Sum256(text), Hint: hint}, nil
}

// keyChecksum returns the CRC-32 (IEEE) of a key without its checksum, in base62.
func keyChecksum(body []byte) (digits [keyChecksumLength]byte) {
	sum := crc32.ChecksumIEEE(body)
	for i := keyChecksumLength - 1; i >= 0; i-- {
		digits[i] = base62[sum%62]
		sum /= 62
	}
	return digits
}

// HashKey returns the hash of a credential, valid or not.
func HashKey(credential string) KeyHash {
	var buf [MaxCredential]byte
	return sha256.Sum256(buf[:copy(buf[:], credential)])
}

// ParseKey returns the hash by which to look up a credential. Without a lookup, it rejects
// everything that cannot be a key of this environment: a wrong format, environment or checksum.
// It returns an [Error] with [CodeInvalidAPIKey], which never repeats the credential.
func ParseKey(env Environment, credential string) (KeyHash, error) {
	const form = "the API key is not valid; send the whole key, as it was shown when it was created"
	if len(credential) > MaxCredential {
		return KeyHash{}, Errorf(CodeInvalidAPIKey, "%s", form)
	}
	prefix, other := env.keyPrefix(), env.other()
	if strings.HasPrefix(credential, other.keyPrefix()) {
		return KeyHash{}, Errorf(CodeInvalidAPIKey, "this is a key of the %s environment; this is %s", other, env)
	}
	if len(credential) != len(prefix)+keyRandomLength+keyChecksumLength || !strings.HasPrefix(credential, prefix) {
		return KeyHash{}, Errorf(CodeInvalidAPIKey, "%s", form)
	}
	text := []byte(credential)
	body := text[:len(text)-keyChecksumLength]
	if sum := keyChecksum(body); !isBase62(string(body[len(prefix):])) || string(sum[:]) != credential[len(body):] {
		return KeyHash{}, Errorf(CodeInvalidAPIKey, "%s", form)
	}
	return sha256.Sum256(text), nil
}

// isBase62 reports whether a text has only letters and digits.
func isBase62(text string) bool { return strings.Trim(text, base62) == "" }

// KeyTerms are the properties of a key that its creator chooses.
type KeyTerms struct {
	Label     string    // the operator's note on the key, or ""
	ExpiresAt time.Time // zero: never
	ReadOnly  bool
}

// check returns an [Error] with [CodeInvalidField] for an invalid label, or an expiry that is
// not after now.
func (t KeyTerms) check(now time.Time) error {
	if err := (textRule{field: "label", called: "the label", maxRunes: MaxKeyLabel, blank: true}).check(t.Label); err != nil {
		return err
	}
	return CheckExpiry(t.ExpiresAt, now)
}

// MaxKeyLabel is the maximum length of a label, in characters.
const MaxKeyLabel = 200

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
// [CodeInvalidField] for an invalid label, or an expiry that is not after now.
func (g KeyGenerator) NewKey(account AccountID, terms KeyTerms, now time.Time) (NewKey, Secret, error) {
	if err := terms.check(now); err != nil {
		return NewKey{}, Secret{}, err
	}
	generated, err := GenerateKey(g.Environment, g.Random)
	return NewKey{account: account, terms: terms, generated: generated}, generated.Secret, err
}

// CheckExpiry returns an [Error] with [CodeInvalidField] unless an expiry is zero or after now.
func CheckExpiry(end, now time.Time) error {
	if !end.IsZero() && !end.After(now) {
		return Errorf(CodeInvalidField, "the expiry must be in the future (got %s)", end.UTC().Format(time.RFC3339))
	}
	return nil
}

// Account returns the account of the key.
func (n NewKey) Account() AccountID { return n.account }

// Terms returns the terms of the key.
func (n NewKey) Terms() KeyTerms { return n.terms }

// Generated returns the secret with its hash and hint.
func (n NewKey) Generated() GeneratedKey { return n.generated }

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
// active, Apply returns an [Error] with [CodeInvalidField].
func (r Rotation) Apply(old Key, now time.Time) (oldAfter, successor Key, err error) {
	if state := old.State(now); state != KeyActive {
		return Key{}, Key{}, Errorf(CodeInvalidField, "the key %s is %s and cannot be rotated; create a new key instead", old.ID, state)
	}
	if old.Successor != 0 {
		return Key{}, Key{}, Errorf(CodeInvalidField, "the key %s was rotated already; rotate its successor %s", old.ID, old.Successor)
	}
	successor = Key{Account: old.Account, Label: old.Label, Hint: r.generated.Hint, ReadOnly: old.ReadOnly, CreatedAt: now}
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

// KeyAction is a change of a key's state.
type KeyAction string

// The changes of a key's state.
const (
	DisableKey KeyAction = "disable"
	EnableKey  KeyAction = "enable"
	RevokeKey  KeyAction = "revoke"
)

// Apply returns the key after the action at now. Actions are idempotent. Enabling or disabling
// a revoked key is an [Error] with [CodeInvalidField].
func (a KeyAction) Apply(k Key, now time.Time) (Key, error) {
	if err := k.checkNotRevoked(); err != nil && a != RevokeKey {
		return Key{}, err
	}
	switch a {
	case DisableKey:
		if k.DisabledAt.IsZero() {
			k.DisabledAt = now
		}
	case EnableKey:
		k.DisabledAt = time.Time{}
	case RevokeKey:
		if k.RevokedAt.IsZero() {
			k.RevokedAt = now
		}
	}
	return k, nil
}

// KeyEdit changes a key's label and expiry. Only [ParseKeyEdit] makes a valid one.
type KeyEdit struct {
	label     *string
	expiresAt *time.Time
}

// ParseKeyEdit validates a label and an expiry as [KeyGenerator.NewKey] does; nil leaves them
// unchanged.
func ParseKeyEdit(label *string, expiresAt *time.Time, now time.Time) (KeyEdit, error) {
	var terms KeyTerms
	if label != nil {
		terms.Label = *label
	}
	if expiresAt != nil {
		terms.ExpiresAt = *expiresAt
	}
	return KeyEdit{label: label, expiresAt: expiresAt}, terms.check(now)
}

// Apply returns the key after a change by an actor at now. It returns an [Error] with
// [CodeInvalidField] for a revoked key, and for an expiry that would revive a key or extend the
// overlap of a replaced one. Only operators extend an expired key.
func (e KeyEdit) Apply(k Key, by Actor, now time.Time) (Key, error) {
	if err := k.checkNotRevoked(); err != nil {
		return Key{}, err
	}
	if e.label != nil {
		k.Label = *e.label
	}
	if e.expiresAt == nil {
		return k, nil
	}
	end := e.expiresAt.UTC().Truncate(time.Millisecond)
	if err := k.checkNewExpiry(end, by, now); err != nil {
		return Key{}, err
	}
	k.ExpiresAt = end
	return k, nil
}

// checkNotRevoked returns an [Error] with [CodeInvalidField] for a revoked key.
func (k Key) checkNotRevoked() error {
	if !k.RevokedAt.IsZero() {
		return Errorf(CodeInvalidField, "the key %s was revoked permanently; create a new key instead", k.ID)
	}
	return nil
}

// checkNewExpiry returns an [Error] with [CodeInvalidField] unless an actor may give a key, which is
// not revoked, another expiry; zero: never.
func (k Key) checkNewExpiry(end time.Time, by Actor, now time.Time) error {
	switch {
	case end.Equal(k.ExpiresAt):
		return nil
	case k.Successor != 0 && (end.IsZero() || end.After(k.ExpiresAt)):
		return Errorf(CodeInvalidField, "the key %s was replaced by %s, and its overlap can only be shortened",
			k.ID, k.Successor)
	case k.State(now) == KeyExpired && by == k.Account.Actor():
		return Errorf(CodeInvalidField, "the key %s has expired; create a new key instead", k.ID)
	default:
		return nil
	}
}

// KeyQuery selects a page of keys, newest first.
type KeyQuery struct {
	Account AccountID // 0: any
	Hint    string    // "": any
	Before  KeyID     // only lower ids; 0: from the newest
	Limit   int       // 0: all
}

// MaxCustomerKeys is the maximum number of keys of an account, if its customer creates one. Keys that
// are revoked, or expired more than a day ago, do not count. Keys that were created in the last day
// always count.
const MaxCustomerKeys = 100

// KeyStore keeps keys. Every change commits together with its audit entry, and
// reaches the servers as an [AccessChange].
type KeyStore interface {
	// CreateKey returns an [Error] with [CodeNotFound] if there is no such account, and with
	// [CodeInvalidField] if it is closed, or if its customer already has [MaxCustomerKeys].
	CreateKey(ctx context.Context, by Author, k NewKey) (Result[Key], error)
	// FindKey returns an [Error] with [CodeNotFound] if there is no such key.
	FindKey(ctx context.Context, id KeyID) (Key, error)
	// FindKeys returns the keys with these hashes, in their order. Unknown hashes are skipped.
	FindKeys(ctx context.Context, hashes []KeyHash) ([]Key, error)
	// RotateKey returns both keys. See [Rotation.Apply]. It returns an
	// [Error] with [CodeNotFound] or [CodeInvalidField].
	RotateKey(ctx context.Context, by Author, r Rotation) (Result[RotatedKey], error)
	// ChangeKey returns the key after the action. See [KeyAction.Apply]. It
	// returns an [Error] with [CodeNotFound] or [CodeInvalidField].
	ChangeKey(ctx context.Context, by Author, id KeyID, a KeyAction) (Result[Key], error)
	// EditKey returns the key after the change. See [KeyEdit.Apply]. It returns the same errors
	// as ChangeKey.
	EditKey(ctx context.Context, by Author, id KeyID, e KeyEdit) (Result[Key], error)
	// KeyPage returns a page of keys.
	KeyPage(ctx context.Context, q KeyQuery) ([]Key, error)
}

// keyForm matches keys of any environment.
var keyForm = regexp.MustCompile(fmt.Sprintf("pck_(live|test)_[0-9A-Za-z]{%d}", keyRandomLength+keyChecksumLength))

// KeysIn returns the distinct substrings that look like keys, of any environment, in the
// order of the text. [ParseKey] checks their checksums.
func KeysIn(text string) (secrets []Secret) {
	seen := map[string]bool{}
	for _, key := range keyForm.FindAllString(text, -1) {
		if !seen[key] {
			seen[key] = true
			secrets = append(secrets, NewSecret(key))
		}
	}
	return secrets
}

// KeyHashesIn returns the hashes of the keys of an environment that a text contains, such as a leaked
// file, in the order of the text. rejected is the error for the last text in it that only looks like
// a key, or is one of another environment; nil if there is none.
func KeyHashesIn(env Environment, text string) (hashes []KeyHash, rejected *Error) {
	for _, secret := range KeysIn(text) {
		hash, err := ParseKey(env, secret.Reveal())
		if err != nil {
			rejected = Public(err)
			continue
		}
		hashes = append(hashes, hash)
	}
	return hashes, rejected
}

// ParseKeyHint parses the hint of a key. It returns an [Error] with [CodeInvalidField], which
// does not repeat the text: it may be the key itself.
func ParseKeyHint(s string) (hint string, err error) {
	if len(s) != keyHintLength || !isBase62(s) {
		return "", Errorf(CodeInvalidField, "a hint has %d letters and digits", keyHintLength)
	}
	return s, nil
}

// Environment is what a deployment is for. A deployment belongs to one environment, and so
// do its keys: a key of one environment is unknown in the other.
type Environment string

// The environments.
const (
	Production Environment = "production"
	Staging    Environment = "staging"
)

// keyPrefix returns the prefix of the environment's keys.
func (e Environment) keyPrefix() string {
	if e == Staging {
		return "pck_test_"
	}
	return "pck_live_"
}

// other returns the other environment.
func (e Environment) other() Environment {
	if e == Staging {
		return Production
	}
	return Staging
}

// Secret is a text that must not appear in a log, an error, a metric or a page
// by accident: however it is printed or encoded, it shows [redacted]. Reveal is
// the only way to the text, so that every disclosure can be found by name.
type Secret struct {
	// A pointer, because package fmt calls no methods on what it finds in an
	// unexported field of another type, and prints the bare memory instead: of a
	// pointer that is an address. Nil: no text.
	text *string
}

const redacted = "[redacted]"

// NewSecret wraps a text.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{text: &text}
}

// Reveal returns the text.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero reports whether there is no text.
func (s Secret) IsZero() bool { return s.text == nil }

// String returns [redacted].
func (s Secret) String() string { return redacted }

// Format writes [redacted] for every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// MarshalText returns [redacted], for encoding/json, slog and the like.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }
