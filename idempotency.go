package petcat

import "time"

// IdempotencyKey is a caller's own name for a request, so that repeating the
// request cannot repeat its effect. It is unique within an account.
type IdempotencyKey string

// IdempotencyRetention is how long a key is remembered.
const IdempotencyRetention = 24 * time.Hour

// MaxIdempotencyKey is the longest key in bytes.
const MaxIdempotencyKey = 255

// ParseIdempotencyKey checks the value of an Idempotency-Key header. The value
// is opaque: quotes, if there are any, are part of it. It returns an [Error]
// with [CodeInvalidField].
func ParseIdempotencyKey(s string) (IdempotencyKey, error) {
	ok := len(s) >= 1 && len(s) <= MaxIdempotencyKey
	for i := 0; ok && i < len(s); i++ {
		ok = s[i] > ' ' && s[i] <= '~'
	}
	if !ok {
		return "", Errorf(CodeInvalidField, "Idempotency-Key must be 1 to %d visible ASCII characters", MaxIdempotencyKey)
	}
	return IdempotencyKey(s), nil
}
