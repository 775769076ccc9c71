package httpapi

import (
	"sync"

	"petcat"
)

// budget bounds the memory of all bodies that are being read or worked on, beyond
// the small buffer that each request has anyway. One account gets at most half of
// it, so that nobody's large bodies keep out those of everybody else.
type budget struct {
	total int64 // bytes

	mu      sync.Mutex
	taken   int64                      // guarded by mu
	account map[petcat.AccountID]int64 // what each has of taken, if anything; guarded by mu
}

func newBudget(total int64) *budget {
	return &budget{total: total, account: make(map[petcat.AccountID]int64)}
}

// take reports whether there are n more bytes for an account, and takes them.
func (b *budget) take(of petcat.AccountID, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.taken+n > b.total || b.account[of]+n > b.total/2 {
		return false
	}
	b.taken += n
	b.account[of] += n
	return true
}

// give gives back what was taken.
func (b *budget) give(of petcat.AccountID, n int64) {
	if n == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken -= n
	if b.account[of] -= n; b.account[of] == 0 {
		delete(b.account, of)
	}
}
