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

// bodyBuffer holds one request's body, and what reads it. It lives in a pool.
type bodyBuffer struct {
	data   []byte
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

// keepBody is the largest buffer that goes back to the pool: most bodies are
// far smaller, and one large one must not stay in memory for ever.
const keepBody = 64 << 10

// withBody reads and checks the body before the operation's handler runs: 413,
// 415, 400.
func withBody(s *Server, next func(e *exchange, body *bodyBuffer) error) handler {
	return func(e *exchange) error {
		if e.r.ContentLength > maxBody {
			return bodyTooLarge()
		}
		if err := checkMediaType(e); err != nil {
			return err
		}
		buffer := s.bodies.Get().(*bodyBuffer)
		defer func() {
			if cap(buffer.data) <= keepBody {
				s.bodies.Put(buffer)
			}
		}()
		if err := buffer.read(e); err != nil {
			return err
		}
		return next(e, buffer)
	}
}

func bodyTooLarge() error {
	return petcat.Errorf(petcat.CodeBodyTooLarge, "the body must be at most %d bytes", maxBody)
}

// read takes the whole body.
func (b *bodyBuffer) read(e *exchange) error {
	b.data = b.data[:0]
	if n := e.r.ContentLength; n > int64(cap(b.data)) {
		b.data = make([]byte, 0, n)
	}
	// MaxBytesReader also keeps the connection from being used again when there
	// is more to come.
	reader := http.MaxBytesReader(e.w, e.r.Body, maxBody)
	for {
		if len(b.data) == cap(b.data) {
			b.data = append(b.data, 0)[:len(b.data)]
		}
		n, err := reader.Read(b.data[len(b.data):cap(b.data)])
		b.data = b.data[:len(b.data)+n]
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return readError(err)
		}
	}
}

func readError(err error) error {
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return bodyTooLarge()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return petcat.Errorf(petcat.CodeInvalidBody, "the body did not arrive in time; send it in one go").Because(err)
	}
	return petcat.Errorf(petcat.CodeInvalidBody, "the body did not arrive whole; send it again").Because(err)
}
