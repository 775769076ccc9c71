package server

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"
)

// handler is a handler that can be replaced while it serves. It counts the requests in
// flight.
type handler struct {
	current atomic.Pointer[http.Handler]
	running atomic.Int64
	streams streams
}

func (h *handler) set(next http.Handler) { h.current.Store(&next) }

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.running.Add(1)
	defer h.running.Add(-1)
	if r.ProtoMajor > 1 {
		h.streams.serve(*h.current.Load(), w, r)
		return
	}
	(*h.current.Load()).ServeHTTP(w, r)
}

// idleBy waits until no request is in flight, or until the given moment. It reports whether
// no request is in flight.
func (h *handler) idleBy(ctx context.Context, moment time.Time) bool {
	ctx, cancel := context.WithDeadline(ctx, moment)
	defer cancel()
	for h.running.Load() > 0 {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(time.Millisecond):
		}
	}
	return true
}
