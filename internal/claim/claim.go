// Package claim knows which idempotency keys are under way in this process: a
// second request with one of them is told so at once, and no group of writes holds
// a key twice. It knows nothing of other processes, whose keys are found in the
// store, and remembers nothing of requests that have ended: that is the store's
// part, too. It depends on nothing that could be away.
package claim

import (
	"sync"

	"petcat"
)

// Claim is an idempotency key whose first request is under way.
type Claim struct {
	Account petcat.AccountID
	Key     petcat.IdempotencyKey
}

// Set holds the claims of a process. The zero value is empty and ready. It is safe
// for concurrent use. It is as large as the queue of writes at most.
type Set struct {
	mu   sync.Mutex
	held map[Claim]struct{} // guarded by mu; nil: nothing was ever taken
}

// Take reports whether a claim was free, and holds it from then on.
func (s *Set) Take(c Claim) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, held := s.held[c]; held {
		return false
	}
	if s.held == nil {
		s.held = make(map[Claim]struct{})
	}
	s.held[c] = struct{}{}
	return true
}

// Drop lets go of a claim. The writer does it and not the callers, because a caller
// may have gone away while its write went on.
func (s *Set) Drop(c Claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.held, c)
}
