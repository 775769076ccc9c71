package main

import (
	"net/http"
	"sync/atomic"
)

// swap is a handler that may be replaced while it serves.
type swap struct{ current atomic.Pointer[http.Handler] }

func (s *swap) set(h http.Handler) { s.current.Store(&h) }

func (s *swap) ServeHTTP(w http.ResponseWriter, r *http.Request) { (*s.current.Load()).ServeHTTP(w, r) }
