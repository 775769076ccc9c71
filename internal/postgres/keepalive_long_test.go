//go:build long && linux

package postgres

import (
	"context"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/petcat-api/petcat/internal/pgtest"
)

// dropSilently drops all packets that arrive at the network's connections from now on, without a notice,
// like a firewall that has forgotten them. New connections work.
func (n *network) dropSilently(t *testing.T) {
	t.Helper()
	nothing := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: 0}}
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.conns {
		socket := c.(*net.TCPConn)
		if err := socket.SetKeepAlive(false); err != nil { // otherwise this end would speak
			t.Fatal(err)
		}
		raw, err := socket.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		_ = raw.Control(func(fd uintptr) {
			program := &unix.SockFprog{Len: 1, Filter: &nothing[0]}
			err = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, program)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestSilentDrops: a node gets new connections after the network dropped all of its flows silently, and
// the server closes the old sessions, three times.
func TestSilentDrops(t *testing.T) {
	direct := server.Database(t)
	network, url := newNetwork(t, direct)
	usual := newTimeouts(true, defaultConnectTimeout)
	s := openAt(t, url, Options{Serving: true, timeouts: &usual})
	defer closeNow(t, s)
	admin := pgtest.Connect(t, direct)
	within := func(what string, limit time.Duration, want func() bool) {
		t.Helper()
		begun := time.Now()
		for !want() {
			if time.Since(begun) > limit {
				t.Fatalf("%s: not within %s", what, limit)
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Logf("%s: after %s", what, time.Since(begun).Round(100*time.Millisecond))
	}
	sessions := func() (n int) {
		const query = `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid()`
		if err := admin.QueryRow(t.Context(), query).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	all := calls(t, s)
	delete(all, "each") // it waits 30 s for a row
	all["charge"] = func() error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // as the limiter does
		defer cancel()
		_, err := s.Charge(ctx, oneCharge(1))
		return err
	}
	for range 3 {
		within("all connections", 30*time.Second, func() bool {
			ready := 0 // connections that are still being set up lack settings
			for _, p := range s.pools() {
				ready += int(p.Stat().IdleConns())
			}
			return ready == defaultPoolSize+more
		})
		network.dropSilently(t)
		for name, call := range all {
			within(name, 30*time.Second, func() bool { return call() == nil })
		}
		t.Logf("%d sessions", sessions())
	}
	within("the end of the old sessions", 2*time.Minute, func() bool { return sessions() <= defaultPoolSize+more })
}
