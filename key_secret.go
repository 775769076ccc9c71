package petcat

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"io"
	"math/big"
	"regexp"
	"strings"
)

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
