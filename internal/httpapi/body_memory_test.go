package httpapi

import (
	"testing"

	"github.com/petcat-api/petcat"
)

// TestBodyMemoryForgets: accounts without bodies in flight use no memory.
func TestBodyMemoryForgets(t *testing.T) {
	t.Parallel()
	m := newBodyMemory(800)
	for _, step := range []struct {
		account  petcat.AccountID
		n        int64
		accepted bool
	}{
		{1, 60, true}, {1, 41, false}, {1, 40, true}, {9, 100, true}, {9, 1, false},
	} {
		if got := m.take(step.account, step.n); got != step.accepted {
			t.Errorf("%d bytes for account %d: %t, want %t", step.n, step.account, got, step.accepted)
		}
	}
	m.release(1, 60)
	m.release(1, 40)
	m.release(9, 100)
	if m.total != 0 || len(m.byAccount) != 0 {
		t.Errorf("after all bodies, %d bytes are taken, by %v", m.total, m.byAccount)
	}
}
