package petcat

import (
	"errors"
	"fmt"
	"time"
)

// Code identifies a kind of failure for programs. Codes are snake_case, part of the contract, and never
// renamed; clients must expect new ones.
type Code string

// The codes of the API, grouped by HTTP status.
const (
	// 400
	CodeMalformedJSON Code = "malformed_json" // not exactly one well-formed JSON text without duplicate names
	CodeInvalidBody   Code = "invalid_body"   // not a JSON object, or incomplete
	CodeMissingField  Code = "missing_field"  // a required member or header is absent
	CodeInvalidField  Code = "invalid_field"  // a member or header breaks its rule

	// 401
	CodeMissingAPIKey  Code = "missing_api_key"
	CodeInvalidAPIKey  Code = "invalid_api_key"
	CodeExpiredAPIKey  Code = "expired_api_key"
	CodeRevokedAPIKey  Code = "revoked_api_key"
	CodeDisabledAPIKey Code = "disabled_api_key"

	// 403, 404, 405, 408
	CodeForbidden           Code = "forbidden"             // the key is valid, but may not do this
	CodeAddressNotAllowed   Code = "address_not_allowed"   // the key works in other networks
	CodeStorageLimitReached Code = "storage_limit_reached" // the account or the service is full
	CodeNotFound            Code = "not_found"
	CodeMethodNotAllowed    Code = "method_not_allowed"
	CodeRequestTimeout      Code = "request_timeout" // the body did not arrive in time

	// 409, 410, 412, 413, 415, 422
	CodeIdempotencyInProgress Code = "idempotency_in_progress"
	CodeCategoryInUse         Code = "category_in_use" // the account's pets use it, so it cannot be deleted
	// CodeConflict means that a name is taken, or that the state of the object does not allow the change.
	CodeConflict             Code = "conflict"
	CodeOperationSunset      Code = "operation_sunset"
	CodeCursorExpired        Code = "cursor_expired"
	CodePreconditionFailed   Code = "precondition_failed"
	CodeBodyTooLarge         Code = "body_too_large"
	CodeUnsupportedMediaType Code = "unsupported_media_type"
	CodeIdempotencyKeyReused Code = "idempotency_key_reused"

	// 429
	CodeRateLimitExceeded     Code = "rate_limit_exceeded"
	CodeDailyQuotaExceeded    Code = "daily_quota_exceeded"
	CodeKeyBanned             Code = "key_banned"
	CodeTooManyFailedAttempts Code = "too_many_failed_attempts"
	CodeTooManyChanges        Code = "too_many_changes" // by a customer, in a day

	// 500, 503
	CodeInternalError      Code = "internal_error"
	CodeServiceUnavailable Code = "service_unavailable"
)

// The codes of the management API that the public API does not use.
const (
	// 401
	CodeMissingToken Code = "missing_token"
	CodeInvalidToken Code = "invalid_token"
	CodeExpiredToken Code = "expired_token"
	CodeRevokedToken Code = "revoked_token"
)

// Error is a failure whose Code, Message and Field a client may see. Its cause, if any, is only
// for the log.
type Error struct {
	Code    Code
	Message string
	// Field is the invalid member, query parameter or header, if any.
	Field string
	// RetryAfter is the time after which a retry may succeed; 0 if unknown.
	RetryAfter time.Duration
	cause      error
}

// RetrySeconds returns RetryAfter in whole seconds, rounded up, as in the Retry-After header.
func (e *Error) RetrySeconds() int64 { return int64((e.RetryAfter + time.Second - 1) / time.Second) }

// Errorf returns an Error. Its message must name the field and the remedy.
func Errorf(code Code, format string, args ...any) *Error {
	if len(args) == 0 {
		return &Error{Code: code, Message: format}
	}
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// missing returns the error for a required member that was not sent.
func missing(field string) error {
	return Errorf(CodeMissingField, "%s is required", field).In(field)
}

// In returns a copy of e with a field.
func (e *Error) In(field string) *Error {
	c := *e
	c.Field = field
	return &c
}

// After returns a copy of e with the time after which a retry may succeed.
func (e *Error) After(wait time.Duration) *Error {
	c := *e
	c.RetryAfter = wait
	return &c
}

// WithCause returns a copy of e with a cause, for the log.
func (e *Error) WithCause(cause error) *Error {
	c := *e
	c.cause = cause
	return &c
}

// Error returns the text for the log. Because it may contain the cause, send Message to clients instead.
func (e *Error) Error() string {
	if e.cause == nil {
		return fmt.Sprintf("%s: %s", e.Code, e.Message)
	}
	return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.cause)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// Public returns the error that a client may see: the Error in the chain of err or, if there is none, an
// internal error with a fixed text, which does not leak the cause.
func Public(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{
		Code:    CodeInternalError,
		Message: "something went wrong on our side; retry later, and quote the X-Request-Id if it persists",
		cause:   err,
	}
}

// CodeOf returns the code of the Error in err's chain, CodeInternalError for
// any other error, and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	return Public(err).Code
}

// ErrOutcomeUnknown is in the chain of an error if the change may have been made anyway.
// A retry may make it twice.
var ErrOutcomeUnknown = errors.New("the outcome is unknown")

// UnusableError reports that petcat cannot use a setting, or a directory, file, address or database
// that it was given.
type UnusableError struct {
	// Message is a sentence for operators that states the problem and the remedy. It does not contain a
	// password.
	Message string
	// Temporary is true if a later retry may succeed.
	Temporary bool
	cause     error
}

// Unusablef returns an UnusableError. Its cause is the error of the system or the database, or
// nil.
func Unusablef(cause error, format string, args ...any) *UnusableError {
	return &UnusableError{Message: fmt.Sprintf(format, args...), cause: cause}
}

// TemporarilyUnusablef is Unusablef for a temporary error.
func TemporarilyUnusablef(cause error, format string, args ...any) *UnusableError {
	return &UnusableError{Message: fmt.Sprintf(format, args...), Temporary: true, cause: cause}
}

// Error returns the message.
func (e *UnusableError) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *UnusableError) Unwrap() error { return e.cause }
