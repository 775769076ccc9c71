package web

import "sync"

// Memory limits the memory of all request bodies in flight. A client, such as an account, may use an
// eighth of it. The last quarter is only for clients that use little, so that a few clients with many
// slow bodies do not reject the bodies of all others. Use [NewMemory].
type Memory[K comparable] struct {
	limit int64 // in bytes

	mu       sync.Mutex
	total    int64       // guarded by mu
	byClient map[K]int64 // only clients that use memory; guarded by mu
}

// Shares of the memory.
const (
	clientShare = 8  // a client may use an eighth
	littleShare = 64 // a client that uses a 64th uses little
)

// NewMemory returns a limit in bytes.
func NewMemory[K comparable](limit int64) *Memory[K] {
	return &Memory[K]{limit: limit, byClient: make(map[K]int64)}
}

// Take reserves n bytes for a client. If that exceeds a limit, it returns false without a reservation.
func (m *Memory[K]) Take(client K, n int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	used := m.byClient[client] + n
	limit := m.limit
	if used > m.limit/littleShare {
		limit -= m.limit / 4
	}
	if m.total+n > limit || used > m.limit/clientShare {
		return false
	}
	m.total += n
	m.byClient[client] = used
	return true
}

// Release returns n bytes that a client has taken.
func (m *Memory[K]) Release(client K, n int64) {
	if n == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.total -= n
	m.byClient[client] -= n
	if m.byClient[client] == 0 {
		delete(m.byClient, client)
	}
}
