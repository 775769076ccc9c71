package main

import (
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// unused are the connections on which no request has come yet, such as browsers
// and proxies open ahead. A server that shuts down waits for a first request on
// each of them for 5 s, which is longer than some operators let it.
type unused struct {
	// count is len(conns), so that requests on connections in use, which are
	// nearly all, take no lock.
	count atomic.Int64

	mu    sync.Mutex
	conns map[net.Conn]struct{} // guarded by mu
}

// note is an http.Server's ConnState.
func (u *unused) note(c net.Conn, state http.ConnState) {
	if state != http.StateNew && u.count.Load() == 0 {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if state == http.StateNew {
		if u.conns == nil {
			u.conns = make(map[net.Conn]struct{})
		}
		u.conns[c] = struct{}{}
	} else {
		delete(u.conns, c)
	}
	u.count.Store(int64(len(u.conns)))
}

// close closes them. The servers notice, and tell note.
func (u *unused) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for c := range u.conns {
		_ = c.Close()
	}
}
