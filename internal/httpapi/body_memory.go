package httpapi

import (
	"sync"

	"github.com/petcat-api/petcat"
)

// bodyMemory limits the memory of all request bodies in flight, beyond the first 4 KiB of each. An
// account may use an eighth of it, so the slow bodies of one account do not reject those of others.
type bodyMemory struct {
	limit int64 // in bytes

	mu        sync.Mutex
	total     int64                      // guarded by mu
	byAccount map[petcat.AccountID]int64 // only accounts that use memory; guarded by mu
}

func newBodyMemory(limit int64) *bodyMemory {
	return &bodyMemory{limit: limit, byAccount: make(map[petcat.AccountID]int64)}
}

// take reserves n bytes for an account. It returns false, and reserves nothing, if that exceeds a
// limit.
func (m *bodyMemory) take(account petcat.AccountID, n int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.total+n > m.limit || m.byAccount[account]+n > m.limit/8 {
		return false
	}
	m.total += n
	m.byAccount[account] += n
	return true
}

// release returns n bytes that an account has taken.
func (m *bodyMemory) release(account petcat.AccountID, n int64) {
	if n == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.total -= n
	m.byAccount[account] -= n
	if m.byAccount[account] == 0 {
		delete(m.byAccount, account)
	}
}
