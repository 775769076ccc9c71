// Package socket holds the API's listener. Its connections are plain TCP
// connections that spare net/http three things which it pays for with every
// request and which this service does not need in full:
//
//   - Deadlines are kept by a clock that ticks every [Tick]: setting one is a
//     store in memory, where net/http would move a timer of the runtime five
//     times per request. So a deadline may fire up to one Tick late, and never
//     early.
//   - How long a client may take for what it is doing ([Timeouts]) follows from
//     what the connection sees and net/http's ConnState tells, and is measured
//     in ticks, where net/http would read the clock three times per request.
//     Such a timeout may fire up to two Ticks late, and never early. An
//     http.Server that serves such a connection needs no timeouts of its own.
//   - While a handler runs, net/http reads one byte in the background to notice
//     that the client has gone, and must be interrupted to stop. The first such
//     read returns nothing at once. So on a plain connection a handler is not
//     told when its client goes; it finds out when it writes. Handlers here
//     take milliseconds.
//
// It refuses nothing and adds nothing else. Bytes, order and errors are those of
// the connection below. With TLS on top, only the deadlines differ: what a client
// does cannot be told from bytes that are encrypted, so that net/http's own
// timeouts are for those connections.
package socket

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"petcat/internal/clock"
)

// Tick is how often deadlines are looked at.
const Tick = 250 * time.Millisecond

// Timeouts are how long a client may take; 0 for ever. They are told apart by
// what [Listener.Answering] and [Listener.Resting] are told.
type Timeouts struct {
	Header time.Duration // from a request's first byte, or the connection's begin, to the end of its headers
	Body   time.Duration // from there to the end of the body
	Write  time.Duration // from there to the end of the answer; a later SetWriteDeadline replaces it
	Idle   time.Duration // from an answer to the next request's first byte
}

// Listener accepts connections. Use [New].
type Listener struct {
	net.Listener
	timeouts Timeouts
	origin   time.Time // deadlines are kept as distances from it
	// tick is the time since origin when the clock ticked last.
	tick atomic.Int64

	mu    sync.Mutex
	conns map[*conn]struct{} // guarded by mu
	ticks bool               // guarded by mu: a goroutine looks at the deadlines
}

// New returns a listener over l. With timeouts, it must be told what its
// connections do: see [Timeouts].
func New(l net.Listener, timeouts Timeouts) *Listener {
	return &Listener{Listener: l, timeouts: timeouts, origin: clock.Deadline(0), conns: make(map[*conn]struct{})}
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
		l.tick.Store(int64(l.since(clock.Deadline(0))))
		go l.run()
	}
	c.begin()
	return c, nil
}

// Answering tells that the headers of a request have been read. Connections that
// are not this listener's are none of its business, here and in [Listener.Resting].
func (l *Listener) Answering(below net.Conn) {
	if c, ok := below.(*conn); ok {
		c.answer()
	}
}

// Resting tells that an answer has been written, and that the connection waits
// for the next request.
func (l *Listener) Resting(below net.Conn) {
	if c, ok := below.(*conn); ok {
		c.rest()
	}
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
		l.tick.Store(int64(now))
		for _, c := range conns {
			c.fire(now)
		}
		clear(conns)
	}
}

// after returns the deadline that is d from now, or later by up to a Tick, which
// is how old the clock's reading may be; 0 for none when d is.
func (l *Listener) after(d time.Duration) time.Duration {
	if d == 0 {
		return 0
	}
	return time.Duration(l.tick.Load()) + d + Tick
}

func (l *Listener) since(t time.Time) time.Duration { return t.Sub(l.origin) }

func (l *Listener) forget(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}
