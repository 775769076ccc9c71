package main

import (
	"net/http"
	"sync/atomic"
	"time"
)

// swap is a handler that may be replaced while it serves, and that counts what it
// is at work on.
type swap struct {
	current atomic.Pointer[http.Handler]
	running atomic.Int64
	streams streams
}

func (s *swap) set(h http.Handler) { s.current.Store(&h) }

func (s *swap) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.running.Add(1)
	defer s.running.Add(-1)
	if r.ProtoMajor > 1 {
		s.streams.serve(*s.current.Load(), w, r)
		return
	}
	(*s.current.Load()).ServeHTTP(w, r)
}

// idleBy waits until it is at work on nothing, or until a moment, and reports
// whether the former came first.
func (s *swap) idleBy(moment time.Time) bool {
	for s.running.Load() > 0 {
		if time.Now().After(moment) {
			return false
		}
		<-time.After(time.Millisecond)
	}
	return true
}
