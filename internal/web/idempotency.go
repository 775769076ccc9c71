package web

import (
	"net/http"

	"github.com/petcat-api/petcat"
)

// IdempotencyKey returns the idempotency key of a request, "" if it has none. It returns a
// [petcat.Error] with [petcat.CodeInvalidField] for an invalid one, and for several ones.
func IdempotencyKey(h http.Header) (petcat.IdempotencyKey, error) {
	switch values := h["Idempotency-Key"]; len(values) {
	case 0:
		return "", nil
	case 1:
		return petcat.ParseIdempotencyKey(values[0])
	default:
		return "", petcat.Errorf(petcat.CodeInvalidField,
			"send at most one Idempotency-Key header").In("Idempotency-Key")
	}
}
