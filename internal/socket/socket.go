// Package socket holds the API's listener. Its connections are plain TCP
// connections that spare net/http two things which it pays for with every
// request and which this service does not need in full:
//
//   - Deadlines are kept by a clock that ticks every [Tick]: setting one is a
//     store in memory, where net/http would move a timer of the runtime five
//     times per request. So a deadline may fire up to one Tick late, and never
//     early.
//   - While a handler runs, net/http reads one byte in the background to notice
//     that the client has gone, and must be interrupted to stop. The first such
//     read returns nothing at once. So on a plain connection a handler is not
//     told when its client goes; it finds out when it writes. Handlers here
//     take milliseconds.
//
// It refuses nothing and adds nothing else. Bytes, order and errors are those of
// the connection below. With TLS on top, only the deadlines differ.
package socket

import (
	"net"
	"sync"
	"time"

	"petcat/internal/clock"
)

// Tick is how often deadlines are looked at.
const Tick = 250 * time.Millisecond

// Listener accepts connections. Use [New].
type Listener struct {
	net.Listener
	origin time.Time // deadlines are kept as distances from it

	mu    sync.Mutex
	conns map[*conn]struct{} // guarded by mu
	ticks bool               // guarded by mu: a goroutine looks at the deadlines
}

// New returns a listener over l.
func New(l net.Listener) *Listener {
	return &Listener{Listener: l, origin: clock.Deadline(0), conns: make(map[*conn]struct{})}
}

// Accept waits for the next connection.
func (l *Listener) Accept() (net.Conn, error) {
	below, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: below, listener: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns[c] = struct{}{}
	if !l.ticks {
		l.ticks = true
		go l.run()
	}
	return c, nil
}

// run fires what is due, for as long as there are connections.
func (l *Listener) run() {
	ticker := time.NewTicker(Tick)
	defer ticker.Stop()
	var conns []*conn
	for range ticker.C {
		l.mu.Lock()
		if len(l.conns) == 0 {
			l.ticks = false
			l.mu.Unlock()
			return
		}
		conns = conns[:0]
		for c := range l.conns {
			conns = append(conns, c)
		}
		l.mu.Unlock()
		now := l.since(clock.Deadline(0))
		for _, c := range conns {
			c.fire(now)
		}
		clear(conns)
	}
}

func (l *Listener) since(t time.Time) time.Duration { return t.Sub(l.origin) }

func (l *Listener) forget(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}
