package httpapi

import (
	"net/http"
	"strconv"
	"time"

	"petcat/internal/clock"
)

// Header values that never change, so that no request allocates them.
//
//nolint:gochecknoglobals // nobody changes them
var (
	contentTypeJSON = []string{"application/json"}
	cacheNoStore    = []string{"no-store"}
	cacheList       = []string{"private, no-cache"}
	varyList        = []string{"Authorization, Accept-Encoding"}
	connectionClose = []string{"close"}
	trueValue       = []string{"true"}
)

// Long answers are written in pieces of pieceSize bytes, and each must be read within
// pieceTimeout: a client that reads 35 KB a second gets all of it, and one that stops
// reading is cut off.
const (
	pieceSize    = 1 << 20
	pieceTimeout = 30 * time.Second
)

// send writes a status line and a body. Every answer under /v1 is written here, after the
// rate-limit headers were set. Errors of writing are ignored: the client has gone.
func (e *exchange) send(status int, parts ...[]byte) {
	e.answered = true
	e.Status = status
	e.sent = e.server.Clock.Read()
	if e.sent.Wall/int64(time.Second) != e.start.Wall/int64(time.Second) {
		e.server.refresh(e)
	}
	var total int64
	for _, part := range parts {
		total += int64(len(part))
	}
	if e.Method == http.MethodHead && !bodiless(status) {
		// net/http cannot compute the length of a body that it is not given.
		e.header()["Content-Length"] = []string{strconv.FormatInt(total, 10)}
	}
	if e.variesByOrigin {
		varyByOrigin(e.header())
	}
	e.w.WriteHeader(status)
	if e.Method == http.MethodHead || bodiless(status) {
		return
	}
	if total > pieceSize {
		e.sendPieces(parts)
		return
	}
	for _, part := range parts {
		n, err := e.w.Write(part)
		e.Bytes += int64(n)
		if err != nil {
			return
		}
	}
}

// bodiless reports whether answers with a status have neither a body nor Content-Length.
func bodiless(status int) bool {
	return status == http.StatusNoContent || status == http.StatusNotModified
}

// sendUncached answers with JSON that no cache may store.
func (e *exchange) sendUncached(status int, body []byte) {
	h := e.header()
	h["Content-Type"] = contentTypeJSON
	h["Cache-Control"] = cacheNoStore
	e.send(status, body)
}

// sendCreated answers 201 with the created object. replayed says that an earlier request
// created it.
func (e *exchange) sendCreated(replayed bool, body []byte) {
	if replayed {
		e.header()["Idempotent-Replayed"] = trueValue
	}
	e.sendUncached(http.StatusCreated, body)
}

// refresh updates the headers Date and RateLimit, which were set when the request began: its
// body may have taken seconds to arrive.
func (s *Server) refresh(e *exchange) {
	e.setDate(e.sent)
	if !e.Admitted {
		return // it was refused at once, so its headers are up to date
	}
	// The decision is on the limiter's clock, which may be that of another machine.
	d := e.Decision
	now := min(d.Now+int64(e.sent.Since(e.start)), e.sent.Wall)
	s.setRateLimit(e, d.At(now))
}

// setDate sets the Date of an answer by the service's clock.
func (e *exchange) setDate(now clock.Reading) {
	e.header()["Date"] = []string{now.Time().Format(http.TimeFormat)}
}

// sendPieces writes a long body.
func (e *exchange) sendPieces(parts [][]byte) {
	control := http.NewResponseController(e.w)
	left := 0
	for _, part := range parts {
		for len(part) > 0 {
			piece := part[:min(len(part), pieceSize)]
			if left -= len(piece); left < 0 {
				left = pieceSize - len(piece)
				// A deadline of a socket follows the system's clock, not the
				// service's. It fails only if the writer has no deadlines.
				_ = control.SetWriteDeadline(clock.Deadline(pieceTimeout))
			}
			n, err := e.w.Write(piece)
			e.Bytes += int64(n)
			if err != nil {
				return
			}
			part = part[len(piece):]
		}
	}
}

// writer returns a ResponseWriter for an http.Handler. It records the status and the bytes.
func (e *exchange) writer() http.ResponseWriter { return &responseRecorder{ResponseWriter: e.w, e: e} }

type responseRecorder struct {
	http.ResponseWriter
	e *exchange
}

func (r *responseRecorder) WriteHeader(status int) {
	r.e.answered = true
	r.e.Status = status
	if r.e.variesByOrigin {
		varyByOrigin(r.Header())
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *responseRecorder) Write(p []byte) (int, error) {
	if !r.e.answered {
		r.WriteHeader(http.StatusOK)
	}
	written, err := r.ResponseWriter.Write(p)
	r.e.Bytes += int64(written)
	return written, err
}

// Unwrap lets http.ResponseController find the writer below.
func (r *responseRecorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
