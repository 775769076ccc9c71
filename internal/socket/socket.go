// Package socket provides the API's listener. Its connections are plain TCP
// connections that avoid three costs that net/http has per request:
//
//   - Deadlines are kept by a clock that ticks every [Tick]: setting one is a
//     store in memory, where net/http would move a timer of the runtime five
//     times per request. So a deadline may fire up to one Tick late, and never
//     early.
//   - How long a client may take for what it is doing ([Timeouts]) follows from
//     what the connection sees and net/http's ConnState tells, and is measured
//     in ticks, where net/http would read the clock three times per request.
//     Such a timeout may fire up to one Tick late, if it is a whole number of
//     Ticks, otherwise up to two, and never early. An http.Server that serves
//     such a connection needs no timeouts of its own.
//   - While a handler runs, net/http reads one byte in the background to notice that
//     the client has gone, and must be interrupted to stop. The first such read
//     returns nothing at once. So on a plain connection a handler is not told when
//     its client leaves; it finds out when it writes. Handlers here take
//     milliseconds, each wait in them has a timeout, and a queued create is carried
//     out whether its client is still there or not. The byte would not be reliable
//     either: a client that left and a client that only closed its sending side,
//     which HTTP allows, look the same, and the latter must get its response.
//
// Bytes, order and errors are those of the connection below. With TLS on top,
// only the deadlines differ: what a client does cannot be told from bytes that are
// encrypted, so that net/http's own timeouts are for those connections.
//
// A response reaches a client that is still sending, where net/http would cut it
// off: see [Listener.Linger].
//
// It also bounds how many connections are open, and how many a client may waste:
// see [Limits].
package socket

import (
	"errors"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"petcat/internal/clientnet"
	"petcat/internal/clock"
)

// Tick is how often deadlines are looked at.
const Tick = 250 * time.Millisecond

// Timeouts are how long a client may take; 0 for ever. Which of them holds follows from
// the last call of [Listener.Active] or [Listener.Idle].
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
	limits   Limits
	linger   time.Duration // see Linger
	readMost int           // see ReadAtMost; 0: no bound
	origin   time.Time     // deadlines are kept as distances from it
	// tick is the time since origin when the clock ticked last, or should have: its
	// ticks are exactly a Tick apart.
	tick atomic.Int64

	mu       sync.Mutex
	conns    map[*conn]struct{}       // guarded by mu; those that linger among them
	crowds   map[clientnet.Net]*crowd // the unauthenticated ones of each client; guarded by mu
	ticks    bool                     // guarded by mu: a goroutine looks at the deadlines
	waste    waste                    // guarded by mu
	dropped  uint64                   // guarded by mu
	failures uint64                   // guarded by mu

	lingering inFlight
	buffers   sync.Pool // for what nobody reads
}

// ReadAtMost bounds how many bytes one read takes from a connection. crypto/tls reads
// as much as there is, and keeps a buffer for each connection that is several times as
// large as what one read returned. It must be called before the first Accept.
func (l *Listener) ReadAtMost(n int) { l.readMost = n }

// New returns a listener over l. With timeouts, it must be told what its
// connections do: see [Timeouts].
func New(l net.Listener, timeouts Timeouts) *Listener {
	return &Listener{
		Listener: l, timeouts: timeouts, origin: clock.Deadline(0),
		conns: make(map[*conn]struct{}), crowds: make(map[clientnet.Net]*crowd),
		waste:   waste{paid: make(map[clientnet.Net]time.Duration), shut: make(map[clientnet.Net]struct{})},
		buffers: sync.Pool{New: func() any { return new([lingerBuffer]byte) }},
	}
}

// Accept waits for the next connection.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		below, err := l.Listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				l.mu.Lock()
				clear(l.waste.shut) // nobody waits for them
				l.mu.Unlock()
				return nil, err
			}
			l.mu.Lock()
			l.failures++
			l.mu.Unlock()
			// Most likely there is no descriptor left: one that is closed is one
			// for whoever waits.
			if !l.makeRoom() {
				return nil, err
			}
			continue
		}
		if c := l.take(below); c != nil {
			return c, nil
		}
	}
}

// take makes a connection one of the listener's, or closes it and returns nil when
// there is no room.
func (l *Listener) take(below net.Conn) *conn {
	c := &conn{Conn: below, listener: l, accepted: l.since(clock.Deadline(0))}
	l.mu.Lock()
	victim := l.enter(c)
	if !l.ticks && (victim != c || len(l.waste.shut) > 0) {
		l.ticks = true
		l.tick.Store(int64(c.accepted))
		go l.run()
	}
	l.mu.Unlock()
	if victim != nil {
		_ = victim.close()
	}
	if victim == c {
		return nil
	}
	c.begin()
	return c
}

// Active tells that the headers of a request have been read. Connections that
// are not this listener's are none of its business, here and in [Listener.Idle].
func (l *Listener) Active(c net.Conn) {
	switch c := below(c); {
	case c == nil:
	case l.timeouts == Timeouts{}:
		c.note(true)
	default:
		c.active()
	}
}

// Idle tells that an answer has been written, and that the connection waits
// for the next request.
func (l *Listener) Idle(c net.Conn) {
	switch c := below(c); {
	case c == nil:
	case l.timeouts == Timeouts{}:
		c.note(false)
	default:
		c.idle()
	}
}

// StopReads lets no more bytes in: whoever waits for a body gets an error at once,
// and may answer.
func (l *Listener) StopReads() {
	for _, c := range l.open() {
		c.stopReads()
	}
}

// CloseNew closes the connections on which no request has come yet.
func (l *Listener) CloseNew() {
	for _, c := range l.open() {
		if !c.isUsed() {
			_ = c.close()
		}
	}
}

// CloseConns closes all connections, at once and without a farewell.
func (l *Listener) CloseConns() {
	for _, c := range l.open() {
		_ = c.close()
	}
}

// open returns the connections that are open.
func (l *Listener) open() []*conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.AppendSeq(make([]*conn, 0, len(l.conns)), maps.Keys(l.conns))
}

// run fires what is due, for as long as there are connections, or clients that are
// to be let in again.
func (l *Listener) run() {
	first := time.Duration(l.tick.Load())
	ticker := time.NewTicker(Tick)
	defer ticker.Stop()
	var conns []*conn
	for range ticker.C {
		l.mu.Lock()
		now := l.since(clock.Deadline(0))
		// Without the moments by which the ticker is late, more at one time than at
		// another: what is due at a tick would otherwise miss it half of the time.
		l.tick.Store(int64(first + (now - first).Truncate(Tick)))
		l.forgive(now)
		if len(l.conns) == 0 && len(l.waste.shut) == 0 {
			l.ticks = false
			l.mu.Unlock()
			return
		}
		many := l.overdue(now, nil)
		conns = slices.AppendSeq(conns[:0], maps.Keys(l.conns))
		l.mu.Unlock()
		for _, c := range conns {
			c.fire(now)
		}
		clear(conns)
		for _, c := range many {
			_ = c.close()
		}
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

// lastTick returns when the clock ticked last; never 0.
func (l *Listener) lastTick() time.Duration { return time.Duration(max(1, l.tick.Load())) }

func (l *Listener) since(t time.Time) time.Duration { return t.Sub(l.origin) }

func (l *Listener) forget(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove(c)
}
