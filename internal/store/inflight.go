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

// inFlight is the set of keys whose first request is in flight in this process: a second
// request with the same key is refused immediately, and no group of writes holds a key
// twice. The zero value is empty and ready. There are as many as the queue of writes is
// long, at most.
type inFlight struct {
	mu   sync.Mutex
	keys map[scopedKey]struct{} // guarded by mu; nil: there never was one
}

// begin reports whether a key was not in flight yet; from then on it is.
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

// end says that a key is no longer in flight. The writer calls it and not the request,
// whose caller may have gone away while its write went on.
func (f *inFlight) end(k scopedKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.keys, k)
}
