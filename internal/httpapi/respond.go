package httpapi

import (
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/petcat-api/petcat/internal/catalog"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/web"
)

// Common header values, shared to avoid allocations.
//
//nolint:gochecknoglobals // never changed
var (
	contentTypeJSON = []string{"application/json"}
	noStore         = []string{"no-store"}
	cacheList       = []string{"private, no-cache"}
	varyList        = []string{"Authorization, Accept-Encoding"}
)

// Long responses are written in pieces of pieceSize bytes, each with the timeout pieceTimeout. A
// client that reads 35 KB/s gets the whole response, unless it keeps too much of an old list in memory; a
// client that stops reading is cut off.
const (
	pieceSize    = 1 << 20
	pieceTimeout = 30 * time.Second
)

// send writes a status line and a body. It writes every response under /v1, after the rate-limit
// headers are set. Write errors are ignored, because the client has disconnected.
func (e *exchange) send(status int, parts ...[]byte) {
	e.server.refresh(e)
	var total int64
	for _, part := range parts {
		total += int64(len(part))
	}
	bodiless := status == http.StatusNoContent || status == http.StatusNotModified
	if h := e.Header(); !bodiless && h["Content-Length"] == nil {
		h["Content-Length"] = integer(total)
	}
	e.WriteHeader(status)
	if e.Method == http.MethodHead || bodiless {
		return
	}
	left := int64(pieceSize)
	for _, part := range parts {
		for len(part) > 0 {
			piece := part[:min(len(part), pieceSize)]
			if left -= int64(len(piece)); left < 0 {
				left = pieceSize - int64(len(piece))
				// Socket deadlines follow the system clock. The call fails only if the writer does not
				// support deadlines.
				_ = http.NewResponseController(e.w).SetWriteDeadline(clock.Deadline(pieceTimeout))
				if e.cut.Load() { // before the deadline was set
					return
				}
			}
			if _, err := e.Write(piece); err != nil {
				return
			}
			part = part[len(piece):]
		}
	}
}

// cutOff aborts the response to a client that reads too slowly, during send.
func (e *exchange) cutOff() {
	e.cut.Store(true)
	_ = http.NewResponseController(e.w).SetWriteDeadline(clock.Deadline(0))
}

// sendJSON sends JSON that caches must not store, in parts.
func (e *exchange) sendJSON(status int, parts ...[]byte) {
	h := e.Header()
	h["Content-Type"] = contentTypeJSON
	h["Cache-Control"] = noStore
	e.send(status, parts...)
}

// setAge says how old a response is. 0 means current.
func (e *exchange) setAge(age time.Duration) {
	if age > 0 {
		// Rounded up, so that no stale response has the age 0.
		e.Header()["Age"] = integer(int64((age + time.Second - 1) / time.Second))
	}
}

// sendNoContent sends 204.
func (e *exchange) sendNoContent() {
	e.Header()["Cache-Control"] = noStore
	e.send(http.StatusNoContent)
}

// marshal returns v as JSON. It cannot fail, because all strings are validated.
func marshal(v any) []byte {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return body
}

// sendCurrent sends the current representation, or 304 or 412 depending on the conditions of the
// request. all has the entity tags of all representations. age is the time since the
// representation was up to date, 0 if it is now.
func (e *exchange) sendCurrent(current *catalog.Representation, all []string, age time.Duration) error {
	outcome := web.Evaluate(e.r, current.ETag[0], all...)
	if outcome == web.Failed {
		return preconditionFailed()
	}
	h := e.Header()
	h["ETag"] = current.ETag
	h["Cache-Control"] = cacheList
	if h["Vary"] == nil {
		h["Vary"] = varyList
	} else {
		h["Vary"] = append(h["Vary"], varyList...)
	}
	e.setAge(age)
	if outcome == web.NotModified {
		e.send(http.StatusNotModified)
		return nil
	}
	h["Content-Type"] = contentTypeJSON
	h["Content-Length"] = current.ContentLength
	if current.ContentEncoding != nil {
		h["Content-Encoding"] = current.ContentEncoding
	}
	e.send(http.StatusOK, current.Parts...)
	return nil
}

// sendItem is sendCurrent for a resource with one representation.
func (e *exchange) sendItem(etag string, age time.Duration, parts ...[]byte) error {
	current := &catalog.Representation{ETag: []string{etag}, Parts: parts}
	return e.sendCurrent(current, current.ETag, age)
}
