package httpapi

import (
	"io"
	"net/http"
	"time"

	"petcat/internal/clock"
)

// Over HTTP/2, net/http resets a stream whose handler returns before it has read the body.
// Clients must not treat that as a failure if the answer was complete (RFC 9113, section
// 8.1), but some do: curl 7.88 loses the answer. So the rest of a body is read and
// discarded after the answer, as long as drainPiece bytes arrive in each drainTimeout, up
// to drainBytes and for drainTime. drainTimeout is short because clients that stop sending
// when they get an answer, such as Go's, wait that long for its end. Over HTTP/1.1 the
// listener does this after the handler: see package socket.
const (
	drainPiece   = 8 << 10
	drainTimeout = 250 * time.Millisecond
	drainBytes   = 64 << 20
	drainTime    = 10 * time.Second
)

// unread reports whether the rest of a body must be read. A client that sent Expect waits
// for 100 Continue, and does not send its body after an answer.
func (e *exchange) unread() bool {
	return e.r.ContentLength != 0 && e.r.ProtoMajor == 2 && !e.bodyRead && e.r.Header["Expect"] == nil
}

// drain flushes the answer and reads the rest of the body.
func (e *exchange) drain() {
	if !e.unread() {
		return
	}
	control := http.NewResponseController(e.w)
	if control.Flush() != nil {
		return // the client has gone
	}
	begin := e.server.clock.Read()
	for left := int64(drainBytes); left > 0 && e.server.clock.Read().Since(begin) < drainTime; left -= drainPiece {
		// A deadline of a socket follows the system's clock, not the service's.
		if control.SetReadDeadline(clock.Deadline(drainTimeout)) != nil {
			return
		}
		if _, err := io.CopyN(io.Discard, e.r.Body, drainPiece); err != nil {
			return
		}
	}
}
