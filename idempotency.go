package petcat

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// IdempotencyKey is a client's name for a request, so that a retry does not repeat its effect. It is
// unique within an account.
type IdempotencyKey string

// IdempotencyRetention is the time for which keys are kept.
const IdempotencyRetention = 24 * time.Hour

// MaxIdempotencyKey is the maximum length of a key in bytes, without quotes around it.
const MaxIdempotencyKey = 255

// idempotencyKeyForm matches a key as sent: bare, or as a structured field's string (RFC 9651,
// section 3.3.3), in which quotes and backslashes are escaped with a backslash.
var idempotencyKeyForm = regexp.MustCompile(fmt.Sprintf(
	`^(?:[!#-~]{1,%[1]d}|"(?:[!#-\[\]-~]|\\["\\]){1,%[1]d}")$`,
	MaxIdempotencyKey,
))

// ParseIdempotencyKey parses the value of an Idempotency-Key header. The IETF draft puts the
// key in double quotes, as a structured field's string; most clients send it bare. Both are
// the same key. It returns an [Error] with [CodeInvalidField].
func ParseIdempotencyKey(s string) (IdempotencyKey, error) {
	if !idempotencyKeyForm.MatchString(s) {
		return "", Errorf(CodeInvalidField,
			"Idempotency-Key must be 1 to %d visible ASCII characters, with quotes around all of them or none",
			MaxIdempotencyKey).In("Idempotency-Key")
	}
	if s[0] == '"' {
		s = strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(s[1 : len(s)-1])
	}
	return IdempotencyKey(s), nil
}

// fingerprint returns a SHA-256 of an operation's input. Each operation has a fixed number of
// numbers.
func fingerprint(op OperationID, text string, numbers ...int64) [sha256.Size]byte {
	data := append([]byte(op), 0)
	for _, n := range numbers {
		data = binary.BigEndian.AppendUint64(data, uint64(n)) // #nosec G115 -- its bits, whatever its sign
	}
	return sha256.Sum256(append(data, text...))
}
