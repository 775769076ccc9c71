package httpapi

import (
	"net/http"
	"strconv"
	"time"

	"petcat/internal/clock"
)

// Header values that never change, so that no request makes them anew.
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

// Long answers are written in pieces, each with its own time to be taken: a
// slow reader is served as long as it takes 35 KB a second, one that stopped is
// let go.
const (
	pieceSize    = 1 << 20
	pieceTimeout = 30 * time.Second
)

// send writes a status line and a body. Everything that goes to a caller of the
// API passes here; the limits' headers are in place by then. What cannot be
// written is lost: its reader has gone.
func (e *exchange) send(status int, parts ...[]byte) {
	e.answered = true
	e.Status = status
	e.sent = e.server.clock.Read()
	if e.sent.Wall/int64(time.Second) != e.start.Wall/int64(time.Second) {
		e.server.refresh(e)
	}
	var total int64
	for _, part := range parts {
		total += int64(len(part))
	}
	if e.unread() && !bodiless(status) {
		// The answer leaves before net/http can know that it is whole.
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

// bodiless reports whether answers with a status have no body, nor the length of one.
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

// sendCreated answers with what was created, by an earlier request if replayed.
func (e *exchange) sendCreated(replayed bool, body []byte) {
	if replayed {
		e.header()["Idempotent-Replayed"] = trueValue
	}
	e.sendUncached(http.StatusCreated, body)
}

// refresh brings up to date what was put in place when the request came: its body
// may have taken seconds since.
func (s *Server) refresh(e *exchange) {
	e.header()["Date"] = s.dates.of(e.sent)
	if !e.Admitted {
		return // refused at once: what it was told is of this moment
	}
	// On the limiter's clock, which may be another machine's.
	d := e.Decision
	now := min(d.Now+int64(e.sent.Since(e.start)), e.sent.Wall)
	s.setRateLimit(e, d.At(now))
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
				// The server's clock is meant here, not the service's: this is
				// about a socket. A writer without deadlines has none to extend.
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

// writer returns a ResponseWriter that records what a handler of the standard
// library writes.
func (e *exchange) writer() http.ResponseWriter { return &responseRecorder{ResponseWriter: e.w, e: e} }

type responseRecorder struct {
	http.ResponseWriter
	e *exchange
}

func (r *responseRecorder) WriteHeader(status int) {
	r.e.answered = true
	r.e.Status = status
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

// Unwrap lets http.ResponseController through.
func (r *responseRecorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
