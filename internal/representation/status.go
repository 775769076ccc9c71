package representation

import (
	"net/http"

	"petcat"
)

// StatusOf returns the HTTP status of a code. It is the only such table.
func StatusOf(code petcat.Code) int {
	switch code {
	case petcat.CodeMalformedJSON, petcat.CodeInvalidBody, petcat.CodeMissingField, petcat.CodeInvalidField:
		return http.StatusBadRequest
	case petcat.CodeMissingAPIKey, petcat.CodeInvalidAPIKey, petcat.CodeExpiredAPIKey,
		petcat.CodeRevokedAPIKey, petcat.CodeDisabledAPIKey:
		return http.StatusUnauthorized
	case petcat.CodeForbidden:
		return http.StatusForbidden
	case petcat.CodeNotFound:
		return http.StatusNotFound
	case petcat.CodeMethodNotAllowed:
		return http.StatusMethodNotAllowed
	case petcat.CodeRequestTimeout:
		return http.StatusRequestTimeout
	case petcat.CodeIdempotencyInProgress, petcat.CodeCategoryInUse:
		return http.StatusConflict
	case petcat.CodeOperationSunset:
		return http.StatusGone
	case petcat.CodePreconditionFailed:
		return http.StatusPreconditionFailed
	case petcat.CodeBodyTooLarge:
		return http.StatusRequestEntityTooLarge
	case petcat.CodeUnsupportedMediaType:
		return http.StatusUnsupportedMediaType
	case petcat.CodeIdempotencyKeyReused:
		return http.StatusUnprocessableEntity
	case petcat.CodeRateLimitExceeded, petcat.CodeDailyQuotaExceeded, petcat.CodeKeyBanned, petcat.CodeTooManyFailedAttempts:
		return http.StatusTooManyRequests
	case petcat.CodeServiceUnavailable:
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}
