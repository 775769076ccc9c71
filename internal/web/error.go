// Package web is what the rooms behind a listener share: the API, the management API, the pages and the
// reference. It has the error object, constant documents, and the conditions, content codings and
// idempotency keys of requests. It does not depend on operations.
package web

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/petcat-api/petcat"
)

// StatusOf returns the HTTP status of a code. It is the only such table.
func StatusOf(code petcat.Code) int {
	switch code {
	case petcat.CodeMalformedJSON, petcat.CodeInvalidBody, petcat.CodeMissingField, petcat.CodeInvalidField:
		return http.StatusBadRequest
	case petcat.CodeMissingAPIKey, petcat.CodeInvalidAPIKey, petcat.CodeExpiredAPIKey,
		petcat.CodeRevokedAPIKey, petcat.CodeDisabledAPIKey,
		petcat.CodeMissingToken, petcat.CodeInvalidToken, petcat.CodeExpiredToken, petcat.CodeRevokedToken:
		return http.StatusUnauthorized
	case petcat.CodeForbidden, petcat.CodeStorageLimitReached, petcat.CodeAddressNotAllowed:
		return http.StatusForbidden
	case petcat.CodeNotFound:
		return http.StatusNotFound
	case petcat.CodeMethodNotAllowed:
		return http.StatusMethodNotAllowed
	case petcat.CodeRequestTimeout:
		return http.StatusRequestTimeout
	case petcat.CodeIdempotencyInProgress, petcat.CodeCategoryInUse, petcat.CodeConflict:
		return http.StatusConflict
	case petcat.CodeOperationSunset, petcat.CodeCursorExpired:
		return http.StatusGone
	case petcat.CodePreconditionFailed:
		return http.StatusPreconditionFailed
	case petcat.CodeBodyTooLarge:
		return http.StatusRequestEntityTooLarge
	case petcat.CodeUnsupportedMediaType:
		return http.StatusUnsupportedMediaType
	case petcat.CodeIdempotencyKeyReused:
		return http.StatusUnprocessableEntity
	case petcat.CodeRateLimitExceeded,
		petcat.CodeDailyQuotaExceeded,
		petcat.CodeKeyBanned,
		petcat.CodeTooManyFailedAttempts,
		petcat.CodeTooManyChanges:
		return http.StatusTooManyRequests
	case petcat.CodeServiceUnavailable:
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

// StatusGone is recorded if the client disconnected before the response, as in nginx. The client does not
// receive it.
const StatusGone = 499

// IsGone reports whether a request failed with err only because its client disconnected.
func IsGone(r *http.Request, err error) bool {
	return errors.Is(err, context.Canceled) && r.Context().Err() != nil
}

// WriteError sends the contract's Error object.
func WriteError(w http.ResponseWriter, public *petcat.Error) {
	SetCode(w, public.Code)
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	SetRetryAfter(h, public)
	status := StatusOf(public.Code)
	w.WriteHeader(status)
	_, _ = w.Write(ErrorBody(public, status)) // fails only if the client disconnected
}

// SetRetryAfter sets the header Retry-After if the error has a time after which a retry may succeed.
func SetRetryAfter(h http.Header, public *petcat.Error) {
	if seconds := public.RetrySeconds(); seconds > 0 {
		h.Set("Retry-After", strconv.FormatInt(seconds, 10))
	}
}

// ErrorBody returns the contract's Error object.
func ErrorBody(public *petcat.Error, status int) []byte {
	body := []byte(`{"code":"` + string(public.Code) + `","message":`)
	quoted, err := jsontext.AppendQuote(body, public.Message)
	if err != nil {
		quoted = append(body, `""`...) // a message that is not UTF-8 would make the body invalid
	}
	return append(strconv.AppendInt(append(quoted, `,"status":`...), int64(status), 10), '}')
}
