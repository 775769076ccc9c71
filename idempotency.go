package petcat

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"time"
)

// IdempotencyKey is a caller's own name for a request, so that repeating the
// request cannot repeat its effect. It is unique within an account.
type IdempotencyKey string

// IdempotencyRetention is how long a key is remembered.
const IdempotencyRetention = 24 * time.Hour

// MaxIdempotencyKey is the longest key in bytes, quotes around it not counted.
const MaxIdempotencyKey = 255

// ParseIdempotencyKey reads the value of an Idempotency-Key header. The IETF
// draft writes the key as a structured field's string, in double quotes; most
// clients write it bare. Both are the same key. It returns an [Error] with
// [CodeInvalidField].
func ParseIdempotencyKey(s string) (IdempotencyKey, error) {
	if strings.HasPrefix(s, `"`) {
		unquoted, ok := unquote(s)
		if !ok {
			return "", Errorf(CodeInvalidField,
				`Idempotency-Key begins with a quote: send the key bare, or as one string "..." with \ before each quote and backslash in it`)
		}
		s = unquoted
	} else if strings.Contains(s, `"`) {
		return "", Errorf(CodeInvalidField, "Idempotency-Key has a quote in it: put quotes around the whole key, or leave them out")
	}
	ok := len(s) >= 1 && len(s) <= MaxIdempotencyKey
	for i := 0; ok && i < len(s); i++ {
		ok = s[i] > ' ' && s[i] <= '~'
	}
	if !ok {
		return "", Errorf(CodeInvalidField, "Idempotency-Key must be 1 to %d visible ASCII characters", MaxIdempotencyKey)
	}
	return IdempotencyKey(s), nil
}

// unquote returns what a structured field's string stands for (RFC 9651, section
// 4.2.5): a backslash stands before a quote or a backslash, and nothing follows
// the closing quote.
func unquote(s string) (text string, ok bool) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), i == len(s)-1
		case '\\':
			i++
			if i == len(s) || s[i] != '"' && s[i] != '\\' {
				return "", false
			}
		}
		b.WriteByte(s[i])
	}
	return "", false
}

// fingerprint returns a SHA-256 of what an operation was asked for. Each operation
// has its own number of numbers.
func fingerprint(op OperationID, text string, numbers ...int64) [sha256.Size]byte {
	data := append([]byte(op), 0)
	for _, n := range numbers {
		data = binary.BigEndian.AppendUint64(data, uint64(n)) // #nosec G115 -- its bits, whatever its sign
	}
	return sha256.Sum256(append(data, text...))
}
