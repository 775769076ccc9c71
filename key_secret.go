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

// KeyHash is the SHA-256 of a key's whole secret. A secret has 190 random bits, so the hash does not need
// a salt.
type KeyHash [sha256.Size]byte

// The format of key and operator token secrets: a prefix, 32 random base62 characters,
// and a checksum, so that scanners and servers detect typos without a lookup. Example:
// pck_live_ + 32 + 6 characters. A hint is the last 4 of the random characters.
const (
	secretRandomLength   = 32
	secretChecksumLength = 6
	hintLength           = 4
	base62               = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
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
	text, hint, err := generateSecret(env.keyPrefix(), random)
	if err != nil {
		return GeneratedKey{}, err
	}
	return GeneratedKey{Secret: NewSecret(text), Hash: sha256.Sum256([]byte(text)), Hint: hint}, nil
}

// generateSecret makes a secret with a prefix, and also returns its hint.
func generateSecret(prefix string, random io.Reader) (secret, hint string, err error) {
	text := []byte(prefix)
	for range secretRandomLength {
		n, err := rand.Int(random, big.NewInt(int64(len(base62))))
		if err != nil {
			return "", "", fmt.Errorf("read random bytes: %w", err)
		}
		text = append(text, base62[n.Int64()])
	}
	hint = string(text[len(text)-hintLength:])
	sum := secretChecksum(text)
	return string(append(text, sum[:]...)), hint, nil
}

// isSecret reports whether a text has the format of a secret with a prefix, and its checksum.
func isSecret(prefix, text string) bool {
	rest, found := strings.CutPrefix(text, prefix)
	if !found || len(rest) != secretRandomLength+secretChecksumLength {
		return false
	}
	body := text[:len(text)-secretChecksumLength]
	sum := secretChecksum([]byte(body))
	return isBase62(body[len(prefix):]) && string(sum[:]) == text[len(body):]
}

// secretChecksum returns the CRC-32 (IEEE) of a secret without its checksum, in base62.
func secretChecksum(body []byte) (digits [secretChecksumLength]byte) {
	sum := crc32.ChecksumIEEE(body)
	for i := secretChecksumLength - 1; i >= 0; i-- {
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
	const form = "the API key is not valid; send the complete key, as it was shown when it was created"
	if len(credential) > MaxCredential {
		return KeyHash{}, Errorf(CodeInvalidAPIKey, "%s", form)
	}
	if other := env.other(); strings.HasPrefix(credential, other.keyPrefix()) {
		return KeyHash{}, Errorf(CodeInvalidAPIKey, "this is a key of the %s environment; this is %s", other, env)
	}
	if !isSecret(env.keyPrefix(), credential) {
		return KeyHash{}, Errorf(CodeInvalidAPIKey, "%s", form)
	}
	return sha256.Sum256([]byte(credential)), nil
}

// isBase62 reports whether a text has only letters and digits.
func isBase62(text string) bool { return strings.Trim(text, base62) == "" }

// secretForm matches keys of any environment, and operator tokens.
var secretForm = regexp.MustCompile(fmt.Sprintf("(pck_(live|test)|pct)_[0-9A-Za-z]{%d}",
	secretRandomLength+secretChecksumLength))

// SecretsIn returns the distinct substrings that look like keys, of any environment, or like operator
// tokens, in the order of the text. [ParseKey] and [ParseOperatorToken] check their checksums.
func SecretsIn(text string) (secrets []Secret) {
	seen := map[string]bool{}
	for _, secret := range secretForm.FindAllString(text, -1) {
		if !seen[secret] {
			seen[secret] = true
			secrets = append(secrets, NewSecret(secret))
		}
	}
	return secrets
}

// LeakedSecrets are the secrets that a text contains, such as a leaked file, in the order of the text.
type LeakedSecrets struct {
	Keys   []KeyHash // of keys of an environment
	Tokens []TokenHash
	// Rejected is the error for the last text in it that only looks like a secret, or is a key of
	// another environment; nil if there is none.
	Rejected *Error
}

// FindLeaked returns the hashes of an environment's keys, and of the operator tokens, that a text
// contains.
func FindLeaked(env Environment, text string) (found LeakedSecrets) {
	for _, secret := range SecretsIn(text) {
		if strings.HasPrefix(secret.Reveal(), operatorTokenPrefix) {
			hash, err := ParseOperatorToken(secret.Reveal())
			if err != nil {
				found.Rejected = Public(err)
				continue
			}
			found.Tokens = append(found.Tokens, hash)
			continue
		}
		hash, err := ParseKey(env, secret.Reveal())
		if err != nil {
			found.Rejected = Public(err)
			continue
		}
		found.Keys = append(found.Keys, hash)
	}
	return found
}

// ParseKeyHint parses the hint of a key. It returns an [Error] with [CodeInvalidField], which
// does not repeat the text: it may be the key itself.
func ParseKeyHint(s string) (hint string, err error) {
	if len(s) != hintLength || !isBase62(s) {
		return "", Errorf(CodeInvalidField, "a hint has %d letters and digits", hintLength)
	}
	return s, nil
}
