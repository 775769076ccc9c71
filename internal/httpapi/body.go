package httpapi

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"petcat"
	"petcat/internal/clock"
)

// maxBody is the largest body in bytes.
const maxBody = 1 << 20

// smallBody is the size in bytes of the buffer that each body begins with, which is enough
// for nearly all. The buffer of a larger body grows with the bytes that have arrived, not
// with the announced length, and within the budget of all bodies.
const smallBody = 4 << 10

// bodyBuffer has the body of one request, and its decoder. It is kept in a pool.
type bodyBuffer struct {
	data   []byte
	taken  int64        // bytes taken from the budget
	source bytes.Buffer // reads data, for the decoder, which does not copy it
	json   *jsontext.Decoder
}

// decoder returns a strict decoder of the body.
func (b *bodyBuffer) decoder() *jsontext.Decoder {
	b.source = *bytes.NewBuffer(b.data)
	if b.json == nil {
		b.json = jsontext.NewDecoder(&b.source)
	} else {
		b.json.Reset(&b.source)
	}
	return b.json
}

// withBody returns a handler that checks the headers, reads the body and calls next. It
// returns the errors 413, 415, 408 and 400.
func withBody(s *Server, check func(*exchange) error, next func(e *exchange, body *bodyBuffer) error) handler {
	return func(e *exchange) error {
		if e.r.ContentLength > maxBody {
			return bodyTooLarge()
		}
		if err := check(e); err != nil {
			return err
		}
		buffer := s.bodies.Get().(*bodyBuffer)
		defer s.release(e, buffer)
		if err := s.readBody(e, buffer); err != nil {
			return err
		}
		return next(e, buffer)
	}
}

// release returns a buffer to the pool, and its bytes to the budget. A large buffer is
// dropped, because the pool would keep it in memory.
func (s *Server) release(e *exchange, b *bodyBuffer) {
	s.bodyBudget.give(e.caller.Account, b.taken)
	b.taken = 0
	if cap(b.data) <= smallBody {
		s.bodies.Put(b)
	}
}

func bodyTooLarge() error {
	return petcat.Errorf(petcat.CodeBodyTooLarge, "the body must be at most %d bytes", maxBody)
}

// readBody reads the whole body into b.
func (s *Server) readBody(e *exchange, b *bodyBuffer) error {
	b.data = b.data[:0]
	for {
		if len(b.data) == cap(b.data) {
			if err := s.growBody(e, b); err != nil {
				return err
			}
		}
		n, err := e.r.Body.Read(b.data[len(b.data):cap(b.data)])
		b.data = b.data[:len(b.data)+n]
		if len(b.data) > maxBody {
			return bodyTooLarge()
		}
		if err != nil {
			e.bodyOver = true
			return readError(err)
		}
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
	e.bodyOver = true
	// A deadline of a socket follows the system's clock, not the service's. It fails only if
	// the reader has no deadlines.
	_ = http.NewResponseController(e.w).SetReadDeadline(clock.Deadline(discardTime))
	// If that is not all of it, net/http closes the connection after the answer.
	_, _ = io.CopyN(io.Discard, e.r.Body, discardBytes)
}

// growBody enlarges the buffer. If the budget does not allow it, the error is 503.
func (s *Server) growBody(e *exchange, b *bodyBuffer) error {
	// One byte more than the body can have, for the read that finds its end.
	size := min(max(smallBody, 2*cap(b.data)), maxBody+1)
	if n := e.r.ContentLength; n >= int64(smallBody) {
		size = min(size, int(n)+1)
	}
	if more := int64(size-smallBody) - b.taken; more > 0 {
		if !s.bodyBudget.take(e.caller.Account, more) {
			e.expected = true
			return petcat.Errorf(petcat.CodeServiceUnavailable, "too many large bodies are arriving at the moment; retry later")
		}
		b.taken += more
	}
	grown := make([]byte, len(b.data), size)
	copy(grown, b.data)
	b.data = grown
	return nil
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

// budget bounds the memory of all bodies in use, beyond the smallBody bytes that each has
// anyway. One account gets at most half of it, so that its large bodies do not keep out
// those of other accounts.
type budget struct {
	total int64 // bytes

	mu      sync.Mutex
	taken   int64                      // guarded by mu
	account map[petcat.AccountID]int64 // the part of taken that each account has, if it is not 0; guarded by mu
}

func newBudget(total int64) *budget {
	return &budget{total: total, account: make(map[petcat.AccountID]int64)}
}

// take takes n bytes for an account, and reports whether they were available.
func (b *budget) take(of petcat.AccountID, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.taken+n > b.total || b.account[of]+n > b.total/2 {
		return false
	}
	b.taken += n
	b.account[of] += n
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
