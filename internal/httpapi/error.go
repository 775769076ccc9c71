package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"petcat"
	"petcat/internal/representation"
)

// pause is the Retry-After, in seconds, of errors that are worth a repetition
// soon: what is in the way is normally gone by then.
const pause = 1

// respondError answers with an error: exactly code, message and status.
func (s *Server) respondError(e *exchange, err error) {
	public := petcat.Public(err)
	status := representation.StatusOf(public.Code)
	failed := status >= http.StatusInternalServerError
	gone := failed && errors.Is(err, context.Canceled) && e.r.Context().Err() != nil
	switch {
	case gone:
		// Only who closed its sending half reads this.
		public = petcat.Errorf(petcat.CodeServiceUnavailable, "the request was cancelled")
		status = representation.StatusOf(public.Code)
	case failed && !e.expected:
		s.logFailure(e, public.Code, err)
	}
	if !gone {
		e.Code = public.Code
	}
	if e.answered {
		// The status line is out: all that is left is to make sure that the
		// caller does not take the broken answer for a whole one.
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
		// The record does not blame us.
		e.Status = statusGone
	}
}

// statusGone is recorded of a request whose client went away before there was an
// answer, as nginx does. It is never sent.
const statusGone = 499

// appendError appends the contract's Error object.
func appendError(dst []byte, public *petcat.Error, status int) []byte {
	dst = append(dst, `{"code":"`...)
	dst = append(dst, public.Code...)
	dst = append(dst, `","message":`...)
	quoted, err := jsontext.AppendQuote(dst, public.Message)
	if err != nil {
		quoted = append(dst, `""`...) // a message that is not UTF-8: better none than a broken body
	}
	dst = append(quoted, `,"status":`...)
	dst = strconv.AppendInt(dst, int64(status), 10)
	return append(dst, '}')
}

// logFailure logs what went wrong on our side, with the cause that the caller
// does not see.
func (s *Server) logFailure(e *exchange, code petcat.Code, err error) {
	attrs := []any{"request_id", e.RequestID, "operation", e.Operation, "code", code, "error", err}
	if code == petcat.CodeServiceUnavailable {
		s.unavailable.note(e.r.Context(), attrs)
		return
	}
	if p, ok := errors.AsType[*panicked](err); ok {
		attrs = append(attrs, "stack", string(p.stack))
	}
	s.logger.ErrorContext(e.r.Context(), "a request failed", attrs...)
}

// panicked is a panic that was caught.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

func panicError(value any) error { return &panicked{value: value, stack: debug.Stack()} }
