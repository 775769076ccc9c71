package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

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

// WriteError sends the contract's Error object.
func WriteError(w http.ResponseWriter, public *petcat.Error) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	status := StatusOf(public.Code)
	w.WriteHeader(status)
	_, _ = w.Write(errorBody(public, status)) // fails only if the client disconnected
}

// errorBody returns the contract's Error object.
func errorBody(public *petcat.Error, status int) []byte {
	body := []byte(`{"code":"` + string(public.Code) + `","message":`)
	quoted, err := jsontext.AppendQuote(body, public.Message)
	if err != nil {
		quoted = append(body, `""`...) // a message that is not UTF-8 would make the body invalid
	}
	return append(strconv.AppendInt(append(quoted, `,"status":`...), int64(status), 10), '}')
}

// pause is the Retry-After in seconds for errors with a short cause.
const pause = 1

// statusGone is recorded if the client disconnected before the response, as in nginx. It is never
// sent.
const statusGone = 499

// respondError sends the contract's Error object for err. It logs err if the service failed.
func (s *Server) respondError(e *exchange, err error) {
	public := petcat.Public(err)
	gone := errors.Is(err, context.Canceled) && e.r.Context().Err() != nil && StatusOf(public.Code) >= http.StatusInternalServerError
	if gone {
		// Only a client that closed only its sending side can receive this.
		public = petcat.Errorf(petcat.CodeServiceUnavailable, "the request was cancelled")
	} else {
		e.Code = public.Code
	}
	status := StatusOf(public.Code)
	if status >= http.StatusInternalServerError && !gone {
		s.logFailure(e, err)
	}
	if e.answered {
		// The connection must be cut, so that the client does not treat the incomplete response
		// as complete.
		e.broken = true
		return
	}
	e.discardBody()
	if e.reset == 0 {
		e.setOtherLimits()
	}
	switch {
	case status == http.StatusUnauthorized:
		e.set("WWW-Authenticate", challenge(public.Code))
	case status == http.StatusServiceUnavailable, public.Code == petcat.CodeIdempotencyInProgress:
		e.retryAfter = max(e.retryAfter, pause)
	}
	if public.Field != "" {
		e.set("X-Error-Field", public.Field)
	}
	if e.retryAfter > 0 {
		e.set("Retry-After", strconv.FormatInt(e.retryAfter, 10))
	}
	e.sendJSON(status, errorBody(public, status))
	if gone {
		// The log and the metrics do not count it as a server error.
		e.Status = statusGone
	}
}

// logFailure logs a failure of the service, with the cause that the response does not show.
func (s *Server) logFailure(e *exchange, err error) {
	attrs := []any{"request_id", e.RequestID, "operation", e.Operation, "code", e.Code, "error", err}
	if e.Code != petcat.CodeServiceUnavailable {
		s.Logger.ErrorContext(e.r.Context(), "request failed", attrs...)
		return
	}
	// During an outage all requests fail for the same reason: one line per second is enough.
	now := s.Clock.Read().Mono
	if next := s.nextOutageLine.Load(); now >= next && s.nextOutageLine.CompareAndSwap(next, now+int64(time.Second)) {
		s.Logger.WarnContext(e.r.Context(), "service unavailable", attrs...)
	}
}
