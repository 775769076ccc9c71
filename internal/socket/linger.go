package socket

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// A connection that is closed while its client still sends is reset. The reset may arrive
// before the client has read the answer: then sending fails, or the client's system discards
// what was not read yet. So a connection on which something was answered is closed in two
// steps (RFC 9112, section 9.6). First the client is told that no more comes. Then what it
// sends is read and discarded until it closes its side, until the time that [Listener.Linger]
// was given is over, until nothing came for lingerSilence, or until lingerBytes came.
const (
	lingerSilence = 2 * time.Second
	lingerBytes   = 64 << 20
	lingerBuffer  = 8 << 10
)

// Linger sets how long a client may go on sending after its connection was closed,
// so that it gets its answer; without it, it is cut off at once. It must be called
// before the first Accept.
func (l *Listener) Linger(d time.Duration) { l.linger = d }

// CloseWrite tells the client that no more comes, as Close does. net/http calls it
// before it waits a while and then calls Close.
func (c *conn) CloseWrite() error {
	if !c.linger() {
		return errors.ErrUnsupported
	}
	return nil
}

// Close closes the connection: at once if the client has gone or was sent nothing,
// else in two steps, without waiting for the second.
func (c *conn) Close() error {
	if c.linger() {
		return nil
	}
	return c.close()
}

// Cut closes a connection of a Listener at once, whatever its client still sends. It is for
// clients that misbehave.
func Cut(c net.Conn) {
	if own, ok := c.(*conn); ok {
		_ = own.close()
	}
}

func (c *conn) close() error {
	c.listener.forget(c)
	return c.Conn.Close()
}

// linger begins to close in two steps, and reports whether it has, now or before.
func (c *conn) linger() bool {
	below, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok || c.listener.linger == 0 || c.gone.Load() || !c.wrote.Load() {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lingers {
		return true
	}
	if c.timedOutWhileIdle() {
		return false
	}
	c.listener.lingering.add(1) // before the client can know
	if below.CloseWrite() != nil {
		c.listener.lingering.add(-1)
		return false
	}
	c.lingers = true
	// Whoever reads now, as HTTP/2 does all the time, stops.
	c.read = deadline{fired: true}
	_ = c.Conn.SetReadDeadline(longAgo) // it fails on closed connections alone
	c.phase = deadline{at: c.listener.after(c.listener.linger)}
	go c.drain()
	return true
}

// timedOutWhileIdle reports whether the time for a request is over and nothing of it has
// come: the client waits for no answer that a reset could destroy. A TLS handshake
// writes, too, and is no answer. The caller holds mu.
func (c *conn) timedOutWhileIdle() bool {
	return (c.read.fired || c.phase.fired) && (!c.used || c.idleFrom != 0)
}

// drain discards what comes, and then closes the connection.
func (c *conn) drain() {
	defer c.listener.lingering.add(-1)
	defer func() { _ = c.close() }() // nobody is left to be told
	buffer := c.listener.buffers.Get().(*[lingerBuffer]byte)
	defer c.listener.buffers.Put(buffer)
	for left := lingerBytes; left > 0; {
		at := c.listener.after(lingerSilence)
		c.mu.Lock()
		c.move(&c.read, at, c.Conn.SetReadDeadline)
		c.mu.Unlock()
		n, err := c.Conn.Read(buffer[:])
		if err != nil {
			return
		}
		left -= n
	}
}

// inFlight counts connections that linger, and tells when there are none. Unlike that of a
// sync.WaitGroup, the count may leave zero while somebody waits, because connections are
// closed until the very end.
type inFlight struct {
	mu    sync.Mutex
	count int           // guarded by mu
	zero  chan struct{} // guarded by mu; closed when count is 0 next; nil while nobody waits
}

func (t *inFlight) add(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count += n
	if t.count == 0 && t.zero != nil {
		close(t.zero)
		t.zero = nil
	}
}

// none returns what is closed as soon as nothing is under way.
func (t *inFlight) none() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.zero != nil {
		return t.zero
	}
	zero := make(chan struct{})
	if t.count == 0 {
		close(zero)
	} else {
		t.zero = zero
	}
	return zero
}

// Settle waits until all connections that were closed are closed on both sides.
// When ctx ends before that, it breaks them off.
func (l *Listener) Settle(ctx context.Context) {
	settled := l.lingering.none()
	select {
	case <-settled:
		return
	case <-ctx.Done():
	}
	for _, c := range l.open() {
		if c.isLingering() {
			_ = c.close()
		}
	}
	<-settled
}

func (c *conn) isLingering() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lingers
}

// noteError notes that the client has gone, if that is what an error says.
func (c *conn) noteError(err error) {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		c.gone.Store(true)
	}
}
