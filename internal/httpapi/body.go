package httpapi

import (
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"petcat"
	"petcat/internal/clock"
)

// maxBody is the largest body in bytes.
const maxBody = 1 << 20

// smallBody is the size in bytes of the buffer that each body begins with, which is enough
// for nearly all. The buffer of a larger body grows with the bytes that have arrived, not
// with the announced length, and within the budget of all bodies.
const smallBody = 4 << 10

// withBody returns a handler that checks the headers, reads the body and calls next. mediaTypes
// are the accepted ones. It returns the errors 413, 415, 408 and 400.
func withBody(s *Server, mediaTypes []string, next func(e *exchange, body []byte) error) handler {
	return func(e *exchange) error {
		if e.r.ContentLength > maxBody {
			return bodyTooLarge()
		}
		if err := e.checkMediaType(mediaTypes); err != nil {
			return err
		}
		defer func() { s.bodies.give(e.caller.Account, e.bodyTaken) }()
		body, err := s.readBody(e)
		if err != nil {
			return err
		}
		return next(e, body)
	}
}

func bodyTooLarge() error {
	return petcat.Errorf(petcat.CodeBodyTooLarge, "the body must be at most %d bytes", maxBody)
}

// Media types of bodies. A JSON merge patch (RFC 7396) has the syntax of JSON, so both are
// accepted for it.
//
//nolint:gochecknoglobals // nobody changes them
var (
	asJSON       = []string{"application/json"}
	asMergePatch = []string{"application/merge-patch+json", "application/json"}
)

// checkMediaType returns the error 415 unless a request has one of the accepted media types,
// with any parameters, or no Content-Type. The error recommends the first of them.
func (e *exchange) checkMediaType(accepted []string) error {
	codings := strings.Join(e.r.Header["Content-Encoding"], ",")
	for coding := range strings.SplitSeq(codings, ",") {
		if coding = strings.Trim(coding, " \t"); coding != "" && !strings.EqualFold(coding, "identity") {
			// It says which coding to send instead (RFC 9110, section 15.5.16).
			e.Header()["Accept-Encoding"] = []string{"identity"}
			return petcat.Errorf(petcat.CodeUnsupportedMediaType, "the body must be sent without a Content-Encoding")
		}
	}
	kinds := e.r.Header["Content-Type"]
	if len(kinds) == 0 || len(kinds) == 1 && kinds[0] == "" {
		return nil
	}
	kind, _, _ := strings.Cut(kinds[0], ";")
	if len(kinds) == 1 && slices.Contains(accepted, strings.ToLower(strings.Trim(kind, " \t"))) {
		return nil
	}
	if e.Method == http.MethodPatch {
		e.Header()["Accept-Patch"] = []string{strings.Join(accepted, ", ")} // RFC 5789, section 3.1
	}
	return petcat.Errorf(petcat.CodeUnsupportedMediaType, "the body must be JSON; send exactly one Content-Type header: %s", accepted[0])
}

// readBody reads the whole body.
func (s *Server) readBody(e *exchange) ([]byte, error) {
	body := make([]byte, 0, smallBody)
	for {
		if len(body) == cap(body) {
			// One byte more than the body can have, for the read that finds its end.
			size := min(2*cap(body), maxBody+1)
			if !s.bodies.take(e, int64(size-cap(body))) {
				e.expected = true
				return nil, petcat.Errorf(petcat.CodeServiceUnavailable, "too many large bodies are arriving at the moment; retry later")
			}
			body = append(make([]byte, 0, size), body...)
		}
		n, err := e.r.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case len(body) > maxBody:
			return nil, bodyTooLarge()
		case err != nil:
			e.bodyOver = true
			return body, readError(err)
		}
	}
}

// readError returns the error for the one that ended a body; nil for its end.
func readError(err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return petcat.Errorf(petcat.CodeRequestTimeout, "the body did not arrive in time; send all of it at once").WithCause(err)
	default:
		return petcat.Errorf(petcat.CodeInvalidBody, "the body is incomplete; send it again").WithCause(err)
	}
}

// A body that is refused is read to its end before the answer, up to discardBytes and for
// discardTime. Many clients send all of a body before they read, and would find that the
// connection was reset.
const (
	discardBytes = 8 << 20
	discardTime  = time.Second
)

// discardBody reads the rest of a body that nobody wants. A client that sent Expect waits
// for 100 Continue, and does not send its body after an answer.
func (e *exchange) discardBody() {
	if e.r.ContentLength == 0 || e.bodyOver || e.r.Header["Expect"] != nil {
		return
	}
	// A deadline of a socket follows the system's clock, not the service's. It fails only if
	// the reader has no deadlines.
	_ = http.NewResponseController(e.w).SetReadDeadline(clock.Deadline(discardTime))
	// If that is not all of it, net/http closes the connection after the answer.
	_, _ = io.CopyN(io.Discard, e.r.Body, discardBytes)
}

// budget bounds the memory of all bodies in use, beyond the smallBody bytes that each has
// anyway. One account gets at most half of it, so that its large bodies do not keep out
// those of other accounts.
type budget struct {
	total int64 // bytes

	mu      sync.Mutex
	taken   int64                      // guarded by mu
	account map[petcat.AccountID]int64 // the part of taken that each account has, if it is not 0; guarded by mu
}

// take takes n bytes for a request, and reports whether they were available.
func (b *budget) take(e *exchange, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	of := e.caller.Account
	if b.taken+n > b.total || b.account[of]+n > b.total/2 {
		return false
	}
	b.taken += n
	b.account[of] += n
	e.bodyTaken += n
	return true
}

// give returns n bytes that an account took.
func (b *budget) give(of petcat.AccountID, n int64) {
	if n == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken -= n
	if b.account[of] -= n; b.account[of] == 0 {
		delete(b.account, of)
	}
}
