package postgres

import (
	"sync"

	"petcat"
)

// claim is an idempotency key whose first request is under way.
type claim struct {
	account petcat.AccountID
	key     petcat.IdempotencyKey
}

// claims are the idempotency keys under way on this node: a second request with
// one of them is told so at once, and no group holds a key twice. A second request
// on another node waits for the first one's commit and finds its key.
type claims struct {
	mu   sync.Mutex
	held map[claim]struct{} // guarded by mu
}

// take reports whether the key was free.
func (c *claims) take(k claim) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, held := c.held[k]; held {
		return false
	}
	c.held[k] = struct{}{}
	return true
}

func (c *claims) drop(k claim) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.held, k)
}

// release drops the claims of a group that was attempted. The writer does it and
// not the callers, because a caller may have gone away while its write went on.
func (c *claims) release(group []*createOp) {
	for _, o := range group {
		if o.IdempotencyKey != "" {
			c.drop(o.claim())
		}
	}
}
