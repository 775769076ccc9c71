package httpapi

import (
	"net/http"
	"strconv"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/web"
)

// pause is the Retry-After in seconds for errors with a short cause.
const pause = 1

// respondError sends the contract's Error object for err. It logs err if the service failed.
func (s *Server) respondError(e *exchange, err error) {
	public := petcat.Public(err)
	gone := web.IsGone(e.r, err) && web.StatusOf(public.Code) >= http.StatusInternalServerError
	if gone {
		// Only a client that closed only its sending side can receive this.
		public = petcat.Errorf(petcat.CodeServiceUnavailable, "the request was canceled")
	} else {
		e.Code = public.Code
	}
	status := web.StatusOf(public.Code)
	if status >= http.StatusInternalServerError && !gone {
		s.logFailure(e, err)
	}
	if e.responded {
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
	e.retryAfter = max(e.retryAfter, public.RetrySeconds())
	if public.Field != "" {
		e.set("X-Error-Field", public.Field)
	}
	if e.retryAfter > 0 {
		e.set("Retry-After", strconv.FormatInt(e.retryAfter, 10))
	}
	e.sendJSON(status, web.ErrorBody(public, status))
	if gone {
		// The log and the metrics do not count it as a server error.
		e.Status = web.StatusGone
	}
}

// logFailure logs a failure of the service, with the cause that the response does not show.
func (s *Server) logFailure(e *exchange, err error) {
	attrs := []any{"request_id", e.RequestID, "operation", e.Operation, "code", e.Code, "error", err}
	if e.Code != petcat.CodeServiceUnavailable {
		s.options.Logger.ErrorContext(e.r.Context(), "request failed", attrs...)
		return
	}
	if s.outageLines.Allow(s.options.Clock.Read().Mono) {
		s.options.Logger.WarnContext(e.r.Context(), "service unavailable", attrs...)
	}
}
