package petcat

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"regexp"
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

// idempotencyKeyForm is a key as it is sent: bare, or as a structured field's string (RFC 9651,
// section 3.3.3), in which a backslash stands before a quote or a backslash.
var idempotencyKeyForm = regexp.MustCompile(fmt.Sprintf(`^(?:[!#-~]{1,%[1]d}|"(?:[!#-\[\]-~]|\\["\\]){1,%[1]d}")$`, MaxIdempotencyKey))

// ParseIdempotencyKey reads the value of an Idempotency-Key header. The IETF
// draft writes the key as a structured field's string, in double quotes; most
// clients write it bare. Both are the same key. It returns an [Error] with
// [CodeInvalidField].
func ParseIdempotencyKey(s string) (IdempotencyKey, error) {
	if !idempotencyKeyForm.MatchString(s) {
		return "", Errorf(CodeInvalidField, "Idempotency-Key must be 1 to %d visible ASCII characters, with quotes around all of them or none", MaxIdempotencyKey).In("Idempotency-Key")
	}
	if s[0] == '"' {
		s = strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(s[1 : len(s)-1])
	}
	return IdempotencyKey(s), nil
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

// Once is the idempotency key of an operator's or a customer's change.
type Once struct {
	By      Actor // whose key it is
	Key     IdempotencyKey
	Request string // the requested change: reusing the key for another one is an error
}

// Fingerprint returns a SHA-256 of the requested change.
func (o Once) Fingerprint() [sha256.Size]byte { return sha256.Sum256([]byte(o.Request)) }

type onceKey struct{}

// WithOnce returns a context under which a store makes a change of by once, and remembers it
// under the Idempotency-Key that was sent. A repeated change returns an error with a
// [RepeatedError] in its chain; a change for another request, [CodeIdempotencyKeyReused]. For "",
// it returns ctx. A key that breaks its rule is an [Error] with [CodeInvalidField].
func WithOnce(ctx context.Context, by Actor, sent, request string) (context.Context, error) {
	if sent == "" {
		return ctx, nil
	}
	key, err := ParseIdempotencyKey(sent)
	return context.WithValue(ctx, onceKey{}, Once{By: by, Key: key, Request: request}), err
}

// OnceFrom returns what [WithOnce] put into a context.
func OnceFrom(ctx context.Context) Once {
	o, _ := ctx.Value(onceKey{}).(Once)
	return o
}

// RepeatedError says that a change was made before.
type RepeatedError struct {
	Subject string // of its audit entry, such as the id of what was created, or of the key that was rotated
}

// Error returns the text for the log.
func (e *RepeatedError) Error() string { return "it was made before: " + e.Subject }
