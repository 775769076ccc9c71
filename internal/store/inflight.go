package store

import (
	"sync"

	"petcat"
)

// scopedKey is an idempotency key of one account: the same text of another account is
// another key.
type scopedKey struct {
	account petcat.AccountID
	key     petcat.IdempotencyKey
}

// inFlight is the set of keys whose first request is in flight in this process. A second
// request with the same key is refused immediately, and no batch of a group commit has a
// key twice. The queue of writes bounds its size. The zero value is empty and ready.
type inFlight struct {
	mu   sync.Mutex
	keys map[scopedKey]struct{} // guarded by mu; nil: there never was one
}

// begin adds a key, and reports whether it was not in flight yet.
func (f *inFlight) begin(k scopedKey) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, begun := f.keys[k]; begun {
		return false
	}
	if f.keys == nil {
		f.keys = make(map[scopedKey]struct{})
	}
	f.keys[k] = struct{}{}
	return true
}

// end removes a key.
func (f *inFlight) end(k scopedKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.keys, k)
}
