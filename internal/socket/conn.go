package socket

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"petcat/internal/clientnet"
)

// conn is a connection whose deadlines the listener keeps.
type conn struct {
	net.Conn
	listener *Listener

	// passed says that the last read was one that was passed over. Reads do
	// not overlap, so they need no lock for it.
	passed bool
	// idling says that no byte of the next request has come. It belongs to the
	// goroutine that serves the connection: while a connection is idle, nobody
	// else reads.
	idling bool

	wrote atomic.Bool // something was written
	gone  atomic.Bool // the client has closed, or does not take what is written

	mu          sync.Mutex
	read, write deadline      // guarded by mu
	phase       deadline      // of reads, by what the client is doing; guarded by mu
	used        bool          // a request has come; guarded by mu
	idleFrom    time.Duration // since when it waits for another request, by the listener's tick; 0 while it does not; guarded by mu
	ended       bool          // reads have been ended for good; guarded by mu
	lingers     bool          // see linger; guarded by mu

	refused      int           // requests that were refused since refusedSince; guarded by mu
	refusedSince time.Duration // by the listener's tick; guarded by mu

	accepted      time.Duration // since the listener's origin
	client        clientnet.Net // it does not change once the listener has it
	exempt        bool          // see Limits; it does not change either
	authenticated atomic.Bool   // see MarkAuthenticated
	served        atomic.Bool   // something was written after it was authenticated
	crowd         *crowd        // nil unless it is unauthenticated; guarded by the listener's mu, as are its neighbours in it
	older, newer  *conn
}

// deadline is when reads or writes are to end.
type deadline struct {
	at    time.Duration // since the listener's origin; 0 for never
	fired bool          // the connection below has been told
}

// longAgo is a deadline that ends what is under way.
var longAgo = time.Unix(1, 0) //nolint:gochecknoglobals // nobody changes it

// Read reads from the connection below, but passes over the first of several
// reads of one byte in a row, which is what net/http's background read is: a
// reader that really waits for one byte asks again, and is served.
func (c *conn) Read(p []byte) (int, error) {
	if len(p) == 1 && !c.passed {
		c.passed = true
		return 0, nil
	}
	c.passed = false
	if most := c.listener.readMost; most > 0 && len(p) > most {
		p = p[:most]
	}
	n, err := c.Conn.Read(p)
	if err != nil {
		c.noteError(err)
	}
	if c.idling && n > 0 {
		c.idling = false
		c.begin()
	}
	return n, err
}

// Write writes to the connection below.
func (c *conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if err != nil {
		c.gone.Store(true)
	} else if !c.served.Load() {
		c.wrote.Store(true)
		c.served.Store(c.authenticated.Load())
	}
	return n, err
}

// begin notes that a request has begun: its headers are to come.
func (c *conn) begin() {
	at := c.listener.after(c.listener.timeouts.Header)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idleFrom = 0
	c.move(&c.phase, at, c.Conn.SetReadDeadline)
}

// note notes whether a request is under way, on a connection whose timeouts
// net/http keeps.
func (c *conn) note(active bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used, c.idleFrom = true, 0
	if !active {
		c.idleFrom = c.listener.lastTick()
	}
}

// active notes that the headers are complete: a body may follow, and the answer.
func (c *conn) active() {
	c.idling = false // the request may have been in the reader's buffer already
	read, write := c.listener.after(c.listener.timeouts.Body), c.listener.after(c.listener.timeouts.Write)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used, c.idleFrom = true, 0
	c.move(&c.phase, read, c.Conn.SetReadDeadline)
	c.move(&c.write, write, c.Conn.SetWriteDeadline)
}

// idle notes that the answer has been written. Part of the next request may be
// in the reader's buffer already; it then has the time of an idle connection.
func (c *conn) idle() {
	c.idling = true
	at := c.listener.after(c.listener.timeouts.Idle)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idleFrom = c.listener.lastTick()
	c.move(&c.phase, at, c.Conn.SetReadDeadline)
	c.move(&c.write, 0, c.Conn.SetWriteDeadline)
}

// move replaces a deadline, and makes the connection good again when the one
// before has fired. The caller holds mu.
func (c *conn) move(d *deadline, at time.Duration, below func(time.Time) error) {
	fired := d.fired
	d.at, d.fired = at, false
	if fired && !c.over(d) {
		_ = below(time.Time{}) // it fails on closed connections alone
	}
}

// SetDeadline sets both deadlines.
func (c *conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// SetReadDeadline sets when reads end.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lingers {
		return net.ErrClosed
	}
	return c.set(&c.read, t, c.Conn.SetReadDeadline)
}

// SetWriteDeadline sets when writes end.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.set(&c.write, t, c.Conn.SetWriteDeadline)
}

// set keeps a deadline. Only one that is over already, and the end of one that
// has fired, concern the connection below. The caller holds mu.
func (c *conn) set(d *deadline, t time.Time, below func(time.Time) error) error {
	d.at = 0
	if !t.IsZero() {
		// A deadline before the origin is one that ends what is under way.
		if d.at = c.listener.since(t); d.at <= 0 {
			d.at, d.fired = 0, true
			return below(longAgo)
		}
	}
	if !d.fired || c.over(d) {
		return nil
	}
	d.fired = false
	return below(time.Time{})
}

// over reports whether no deadline of this kind can make the connection good
// again. The caller holds mu.
func (c *conn) over(d *deadline) bool { return c.ended && d != &c.write }

// stopReads ends reads, and those that are yet to come.
func (c *conn) stopReads() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	_ = c.Conn.SetReadDeadline(longAgo) // it fails on closed connections alone
}

// isUsed reports whether a request has come.
func (c *conn) isUsed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used
}

// idleSince returns since when the connection waits for another request, by
// the listener's tick; 0 while it does not.
func (c *conn) idleSince() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.idleFrom
}

// fire ends reads and writes whose deadline has come.
func (c *conn) fire(now time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range [...]*deadline{&c.read, &c.phase} {
		if d.due(now) {
			d.fired = true
			_ = c.Conn.SetReadDeadline(longAgo) // it fails on closed connections alone
		}
	}
	if c.write.due(now) {
		c.write.fired = true
		_ = c.Conn.SetWriteDeadline(longAgo)
	}
}

func (d deadline) due(now time.Duration) bool { return d.at != 0 && !d.fired && now >= d.at }
