package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"petcat"
	"petcat/internal/representation"
)

// pause is the Retry-After, in seconds, of errors whose cause has normally ended by then.
const pause = 1

// respondError answers with the contract's Error object for err, and logs err if it is a
// failure of the service.
func (s *Server) respondError(e *exchange, err error) {
	public := petcat.Public(err)
	status := representation.StatusOf(public.Code)
	failed := status >= http.StatusInternalServerError
	gone := failed && errors.Is(err, context.Canceled) && e.r.Context().Err() != nil
	switch {
	case gone:
		// Only a client that closed just its sending half reads this.
		public = petcat.Errorf(petcat.CodeServiceUnavailable, "the request was cancelled")
		status = representation.StatusOf(public.Code)
	case failed && !e.expected:
		s.logFailure(e, public.Code, err)
	}
	if !gone {
		e.Code = public.Code
	}
	if e.answered {
		// The status line was sent. The connection must be cut, so that the caller
		// does not take the incomplete answer for a complete one.
		e.broken = true
		return
	}
	switch {
	case e.limitsSet:
	case e.caller != nil:
		s.setUnknownRateLimit(e)
	default:
		s.setAddressRateLimit(e)
	}
	e.discardBody()
	h := e.header()
	h["Content-Type"] = contentTypeJSON
	h["Cache-Control"] = cacheNoStore
	switch {
	case status == http.StatusUnauthorized:
		h["WWW-Authenticate"] = challenge(public.Code)
	case status == http.StatusServiceUnavailable, public.Code == petcat.CodeIdempotencyInProgress:
		e.retryAfter = max(e.retryAfter, pause)
	}
	if e.retryAfter > 0 {
		h["Retry-After"] = []string{strconv.FormatInt(e.retryAfter, 10)}
	}
	e.scratch = appendError(e.scratch[:0], public, status)
	e.send(status, e.scratch)
	if gone {
		// The log and the metrics do not count it as a failure of the service.
		e.Status = statusGone
	}
}

// statusGone is recorded for a request whose client went away before the answer, as nginx
// does. It is never sent.
const statusGone = 499

// appendError appends the contract's Error object.
func appendError(dst []byte, public *petcat.Error, status int) []byte {
	dst = append(dst, `{"code":"`...)
	dst = append(dst, public.Code...)
	dst = append(dst, `","message":`...)
	quoted, err := jsontext.AppendQuote(dst, public.Message)
	if err != nil {
		quoted = append(dst, `""`...) // a message that is not UTF-8 would make the body invalid
	}
	dst = append(quoted, `,"status":`...)
	dst = strconv.AppendInt(dst, int64(status), 10)
	return append(dst, '}')
}

// logFailure logs a failure of the service, with the cause that the caller does not see.
func (s *Server) logFailure(e *exchange, code petcat.Code, err error) {
	attrs := []any{"request_id", e.RequestID, "operation", e.Operation, "code", code, "error", err}
	if code == petcat.CodeServiceUnavailable {
		// During an outage every request fails for the same reason: a line a second is enough.
		now := s.Clock.Read().Mono
		if next := s.nextOutageLine.Load(); now >= next && s.nextOutageLine.CompareAndSwap(next, now+int64(time.Second)) {
			s.Logger.WarnContext(e.r.Context(), "a request could not be served", attrs...)
		}
		return
	}
	if p, ok := errors.AsType[*panicked](err); ok {
		attrs = append(attrs, "stack", string(p.stack))
	}
	s.Logger.ErrorContext(e.r.Context(), "a request failed", attrs...)
}

// panicked is a panic that was caught.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

func panicError(value any) error { return &panicked{value: value, stack: debug.Stack()} }
