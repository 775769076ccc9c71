package petcat

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Code identifies a kind of failure. Codes are never renamed, and new ones may be added:
// treat an unknown code by the Status of its [Error].
//
// A Code is an error, for errors.Is:
//
//	if errors.Is(err, petcat.CodeNotFound) { ...
type Code string

// The codes of the API; docs/errors.md explains each.
const (
	CodeMalformedJSON         Code = "malformed_json"
	CodeInvalidBody           Code = "invalid_body"
	CodeMissingField          Code = "missing_field"
	CodeInvalidField          Code = "invalid_field"
	CodeMissingAPIKey         Code = "missing_api_key"
	CodeInvalidAPIKey         Code = "invalid_api_key"
	CodeExpiredAPIKey         Code = "expired_api_key"
	CodeRevokedAPIKey         Code = "revoked_api_key"
	CodeDisabledAPIKey        Code = "disabled_api_key"
	CodeForbidden             Code = "forbidden"
	CodeAddressNotAllowed     Code = "address_not_allowed"
	CodeNotFound              Code = "not_found"
	CodeMethodNotAllowed      Code = "method_not_allowed"
	CodeRequestTimeout        Code = "request_timeout"
	CodeIdempotencyInProgress Code = "idempotency_in_progress"
	CodeCategoryInUse         Code = "category_in_use"
	CodeConflict              Code = "conflict"
	CodeStorageLimitReached   Code = "storage_limit_reached"
	CodeOperationSunset       Code = "operation_sunset"
	CodeCursorExpired         Code = "cursor_expired"
	CodePreconditionFailed    Code = "precondition_failed"
	CodeBodyTooLarge          Code = "body_too_large"
	CodeUnsupportedMediaType  Code = "unsupported_media_type"
	CodeIdempotencyKeyReused  Code = "idempotency_key_reused"
	CodeRateLimitExceeded     Code = "rate_limit_exceeded"
	CodeDailyQuotaExceeded    Code = "daily_quota_exceeded"
	CodeKeyBanned             Code = "key_banned"
	CodeTooManyFailedAttempts Code = "too_many_failed_attempts"
	CodeTooManyChanges        Code = "too_many_changes"
	CodeInternalError         Code = "internal_error"
	CodeServiceUnavailable    Code = "service_unavailable"
)

// Error returns the code.
func (c Code) Error() string { return string(c) }

// ErrOutcomeUnknown is in the error of a create, update or delete that the service may have
// carried out. Test for it with [errors.Is]. An error without it means that the request had no effect.
var ErrOutcomeUnknown = errors.New("it may have been carried out")

// Error is an error response. A request without a response returns a [ConnectionError].
type Error struct {
	// Status is the HTTP status.
	Status int
	// Code is "" if the response is not the service's, but a proxy's, for example.
	Code Code
	// Message describes the problem and the remedy, for people.
	Message string
	// Field is the member or parameter that is wrong, such as "name"; "" if the response does not specify
	// one.
	Field string
	// RequestID identifies the request. Quote it to the operator of the service.
	RequestID string
	// RetryAfter is how long to wait before the next request; 0 if the response does not specify it.
	RetryAfter time.Duration
	// NotSent is true if the Client rejected the call itself, because the service would also have
	// rejected it.
	NotSent bool
}

// Error returns the response in one line.
func (e *Error) Error() string {
	text := strconv.Itoa(e.Status)
	if e.Code != "" {
		text += " " + string(e.Code)
	}
	text += ": " + e.Message
	switch {
	case e.NotSent:
		text += fmt.Sprintf(" (not sent; try again in %s)", e.RetryAfter)
	case e.RequestID != "":
		text += " (request " + e.RequestID + ")"
	}
	return text
}

// Is reports whether the target is the error's [Code].
func (e *Error) Is(target error) bool {
	code, ok := target.(Code)
	return ok && code == e.Code
}

// notSent returns the error of a call that would get e if it were sent now.
func (e *Error) notSent(wait time.Duration) *Error {
	return &Error{
		Status: e.Status, Code: e.Code, Message: e.Message, RequestID: e.RequestID,
		// Whole seconds, rounded up, as in Retry-After.
		RetryAfter: (wait + time.Second - 1).Truncate(time.Second), NotSent: true,
	}
}

// ConnectionError is the error of a request without a response, or with an incomplete one.
type ConnectionError struct {
	Err error

	sent bool // the request may have been carried out
}

// Error returns the reason.
func (e *ConnectionError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *ConnectionError) Unwrap() error { return e.Err }

// maxErrorBody is the maximum number of bytes that are read of an error's body. The service sends a few
// hundred.
const maxErrorBody = 64 << 10

// readError reads an error response to a request with a path below /v1.
func readError(response *http.Response, res *Response, path string) *Error {
	e := &Error{
		Status: res.Status, Field: res.Header.Get("X-Error-Field"),
		RequestID: res.RequestID, RetryAfter: retryAfter(res.Header),
	}
	if e.RetryAfter == 0 && e.Status == http.StatusTooManyRequests {
		e.RetryAfter = max(res.Limits.ends.Sub(now()), 0)
	}
	if to, _, _ := strings.Cut(res.Header.Get("Location"), "?"); to != "" && res.Status < http.StatusBadRequest {
		e.Message = "redirects are not followed, because the key is for one service alone; " +
			"if you trust it, use its URL: " + strings.TrimSuffix(to, path)
		return e
	}
	var body struct {
		Code    Code
		Message string
	}
	// A body that is not the service's leaves only the status, or one line of text, such as
	// that the server expects https.
	data, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBody))
	line := strings.TrimSpace(string(data))
	switch err := json.Unmarshal(data, &body); {
	case err == nil:
		e.Code, e.Message = body.Code, cmp.Or(body.Message, http.StatusText(res.Status))
	case line != "" && len(line) < 200 && !strings.ContainsAny(line, "<{[\n"):
		e.Message = line
	default:
		e.Message = http.StatusText(res.Status)
	}
	return e
}

// asError returns the error response in err; its Status is 0 if there is none.
func asError(err error) Error {
	if e := (*Error)(nil); errors.As(err, &e) {
		return *e
	}
	return Error{}
}

// retryAfter reads Retry-After. A date is relative to the Date of the response. It is 0 if
// the header is missing or invalid.
func retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if n, err := strconv.ParseInt(text, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return seconds(n)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(at.Sub(sentAt(h)), 0)
	}
	return 0
}

// sentAt returns when the service sent a response, by the service's clock.
func sentAt(h http.Header) time.Time {
	if at, err := http.ParseTime(h.Get("Date")); err == nil {
		return at
	}
	return now()
}

// seconds returns a duration of at most 100 years: more would overflow.
func seconds(n int64) time.Duration {
	return time.Duration(min(max(n, 0), 100*365*24*60*60)) * time.Second
}
