package httpapi

import (
	"sync"

	"petcat"
)

// budget bounds the memory of all bodies in use, beyond the smallBody bytes that each has
// anyway. One account gets at most half of it, so that its large bodies do not keep out
// those of other accounts.
type budget struct {
	total int64 // bytes

	mu      sync.Mutex
	taken   int64                      // guarded by mu
	account map[petcat.AccountID]int64 // the part of taken that each account has, if it is not 0; guarded by mu
}

func newBudget(total int64) *budget {
	return &budget{total: total, account: make(map[petcat.AccountID]int64)}
}

// take takes n bytes for an account, and reports whether they were available.
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

// give returns n bytes that an account took.
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
