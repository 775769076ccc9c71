package httpapi

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"

	"github.com/go-json-experiment/json/jsontext"

	"petcat"
)

// maxBody is the largest body in bytes.
const maxBody = 1 << 20

// smallBody is the room in bytes that a body has from the beginning, which is
// enough for nearly all. A larger one grows with what has arrived, not with what
// was announced, and within the budget of all bodies.
const smallBody = 4 << 10

// bodyBuffer holds one request's body, and what reads it. It lives in a pool.
type bodyBuffer struct {
	data   []byte
	taken  int64        // bytes of the budget
	source bytes.Buffer // over data: the decoder reads it in place
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

// withBody reads and checks the body before the operation's handler runs: 413,
// 415, 408, 400.
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

// release puts a buffer back. A large one must not stay in memory for ever.
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

// readBody takes the whole body.
func (s *Server) readBody(e *exchange, b *bodyBuffer) error {
	b.data = b.data[:0]
	// MaxBytesReader also keeps the connection from being used again when there
	// is more to come.
	reader := http.MaxBytesReader(e.w, e.r.Body, maxBody)
	for {
		if len(b.data) == cap(b.data) {
			if err := s.growBody(e, b); err != nil {
				return err
			}
		}
		n, err := reader.Read(b.data[len(b.data):cap(b.data)])
		b.data = b.data[:len(b.data)+n]
		if errors.Is(err, io.EOF) {
			e.bodyRead = true
			return nil
		}
		if err != nil {
			return readError(err)
		}
	}
}

// growBody makes room for more of a body.
func (s *Server) growBody(e *exchange, b *bodyBuffer) error {
	// One byte more than there can be, for the read that finds the end.
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

func readError(err error) error {
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return bodyTooLarge()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return petcat.Errorf(petcat.CodeRequestTimeout, "the body did not arrive in time; send all of it at once").WithCause(err)
	}
	return petcat.Errorf(petcat.CodeInvalidBody, "the body is incomplete; send it again").WithCause(err)
}
