package web

import "testing"

// TestMemory: a client may use an eighth of the memory. Clients that use much cannot take the last
// quarter from those that use little. Clients without bodies in flight do not use memory.
func TestMemory(t *testing.T) {
	t.Parallel()
	const limit = 6400
	m := NewMemory[int](limit)
	take := func(client int, n int64, want bool) {
		t.Helper()
		if got := m.Take(client, n); got != want {
			t.Errorf("%d bytes for client %d: %t, want %t", n, client, got, want)
		}
	}
	take(1, 400, true)
	take(1, 401, false)
	take(1, 400, true)
	for client := 2; client <= 6; client++ {
		take(client, 800, true)
	}
	take(7, 800, false)
	take(8, 101, false)
	for client := 11; client <= 26; client++ { // three quarters are taken
		take(client, 100, true)
	}
	take(27, 1, false)
	m.Release(1, 400)
	m.Release(1, 400)
	take(27, 1, true)
	m.Release(27, 1)
	for client := 2; client <= 6; client++ {
		m.Release(client, 800)
	}
	for client := 11; client <= 26; client++ {
		m.Release(client, 100)
	}
	if m.total != 0 || len(m.byClient) != 0 {
		t.Errorf("after all bodies, %d bytes are taken, by %v", m.total, m.byClient)
	}
}
