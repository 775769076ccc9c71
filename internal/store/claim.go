package store

import (
	"sync"

	"petcat"
)

// claim is an idempotency key whose first request is in flight in this process.
type claim struct {
	account petcat.AccountID
	key     petcat.IdempotencyKey
}

// claims are those of a process: a second request with the same key is
// refused immediately, and no group of writes holds a key twice. The zero value is empty and ready.
// There are as many as the queue of writes is long, at most.
type claims struct {
	mu   sync.Mutex
	held map[claim]struct{} // guarded by mu; nil: nothing was ever taken
}

// take reports whether a claim was free, and holds it from then on.
func (s *claims) take(c claim) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, held := s.held[c]; held {
		return false
	}
	if s.held == nil {
		s.held = make(map[claim]struct{})
	}
	s.held[c] = struct{}{}
	return true
}

// drop releases a claim. The writer calls it and not the request, whose caller may have
// gone away while its write went on.
func (s *claims) drop(c claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.held, c)
}
