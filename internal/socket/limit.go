package socket

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"time"

	"petcat/internal/clientnet"
)

// Limits bound how many connections are open. The zero value bounds nothing.
//
// A new connection is taken, and an old one closed for it where need be: a client
// that means well shows its key within milliseconds, so that the oldest of those
// that have not are the ones to close. Only those of a client that wastes too many
// are refused.
type Limits struct {
	// Total is how many connections may be open; 0 for any number. A new one past
	// it takes the place of the oldest unauthenticated one of an address with many of
	// them, or of one that has waited long for its next request. Only when there
	// is neither, the new one is closed.
	Total int
	// Unauthenticated is how many connections of one client (see package clientnet) may
	// be open that are older than Grace and have not been authenticated (see [MarkAuthenticated]); 0
	// for any number. The oldest past it are closed.
	Unauthenticated int
	// Grace is how long a connection has before it counts as unauthenticated: a client
	// may open many at once before it sends the first request.
	Grace time.Duration
	// Refused is how many requests a second may be refused on a connection; 0 for any
	// number. See [Refuse].
	Refused int
	// Wasted is how many connections a client may waste, and WastedPerSecond how many
	// of them it may waste again with each second, up to Wasted; 0 for any number. A
	// connection is wasted when it ends before something was written to it after it
	// was authenticated; each that ends otherwise pays for two of them. New ones of a client
	// past that are refused: on Linux by the system, which costs next to nothing, and the
	// client's attempt times out; elsewhere they are closed. Both or neither is set.
	Wasted, WastedPerSecond int
	// Exempt are networks whose connections count as authenticated from the start, are
	// never wasted, and are not closed for what is refused on them.
	Exempt []netip.Prefix
}

// Stats tells about a listener's connections. The counts are since the start.
type Stats struct {
	Open            int
	Unauthenticated int    // of the open ones
	Shut            int    // clients whose new connections are refused
	Dropped         uint64 // connections closed by [Limits]
	Failures        uint64 // of accept, for want of descriptors for instance
}

// crowd are the unauthenticated connections of one client, the oldest first. The
// listener's mu guards it and the links between them.
type crowd struct {
	first, last *conn
	count       int
}

// Limit sets the limits. It must be called before the first Accept.
func (l *Listener) Limit(limits Limits) { l.limits = limits }

// Stats returns how many connections there are.
func (l *Listener) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := Stats{Open: len(l.conns), Shut: len(l.waste.shut), Dropped: l.dropped, Failures: l.failures}
	for _, crowd := range l.crowds {
		s.Unauthenticated += crowd.count
	}
	return s
}

// connKey is the key of a connection in the context of its requests.
type connKey struct{}

// Context is a ConnContext of an http.Server, for [MarkAuthenticated].
func Context(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, below(c))
}

// MarkAuthenticated notes that the client of the request with this context has
// authenticated: the limits of unauthenticated connections no longer apply to its
// connection.
func MarkAuthenticated(ctx context.Context) {
	c, ok := ctx.Value(connKey{}).(*conn)
	if !ok || c.authenticated.Load() {
		return
	}
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	c.authenticated.Store(true)
	c.listener.leave(c)
}

// Refuse notes that a request whose context this is showed no valid key, or was known
// by its key, and refused. It reports whether that happens so often that the
// connection is to be closed after the answer: over HTTP/2 its client may have sent many
// more, each of which costs something even when it is refused.
func Refuse(ctx context.Context, known bool) (closes bool) {
	c, ok := ctx.Value(connKey{}).(*conn)
	if !ok || c.exempt || c.authenticated.Load() && !known || c.listener.limits.Refused == 0 {
		return false
	}
	now := c.listener.lastTick()
	c.mu.Lock()
	defer c.mu.Unlock()
	if now-c.refusedSince >= time.Second {
		c.refusedSince, c.refused = now, 0
	}
	c.refused++
	return c.refused > c.listener.limits.Refused
}

// below returns the connection of a Listener that c is or, with TLS, is over;
// nil for none.
func below(c net.Conn) *conn {
	if over, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = over.NetConn()
	}
	own, _ := c.(*conn)
	return own
}

// enter counts a new connection, and returns one that is to be closed for it, or
// nil. The caller holds mu.
func (l *Listener) enter(c *conn) (victim *conn) {
	address := netip.Addr{}
	if tcp, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		address = tcp.AddrPort().Addr().Unmap()
	}
	c.client = clientnet.Of(address)
	c.exempt = slices.ContainsFunc(l.limits.Exempt, func(p netip.Prefix) bool { return p.Contains(address) })
	if !c.exempt && l.refuses(c) {
		l.dropped++
		return c
	}
	if l.limits.Total > 0 && len(l.conns) >= l.limits.Total {
		if victim = l.victim(); victim == nil {
			victim = c
		}
		l.dropped++
		l.remove(victim)
		if victim == c {
			return c
		}
	}
	l.conns[c] = struct{}{}
	if c.exempt {
		c.authenticated.Store(true)
		return victim
	}
	joined := l.crowds[c.client]
	if joined == nil {
		joined = &crowd{}
		l.crowds[c.client] = joined
	}
	c.crowd, c.older = joined, joined.last
	if joined.last == nil {
		joined.first = c
	} else {
		joined.last.newer = c
	}
	joined.last = c
	joined.count++
	return victim
}

// leave takes a connection out of the unauthenticated ones. The caller holds mu.
func (l *Listener) leave(c *conn) {
	left := c.crowd
	if left == nil {
		return
	}
	if c.older == nil {
		left.first = c.newer
	} else {
		c.older.newer = c.newer
	}
	if c.newer == nil {
		left.last = c.older
	} else {
		c.newer.older = c.older
	}
	c.crowd, c.older, c.newer = nil, nil, nil
	if left.count--; left.count == 0 {
		delete(l.crowds, c.client)
	}
}

// remove forgets a connection, once. The caller holds mu.
func (l *Listener) remove(c *conn) {
	if _, ok := l.conns[c]; !ok {
		return
	}
	delete(l.conns, c)
	l.leave(c)
	l.account(c)
}

// sample is how many connections, or clients, are looked at to find the one that
// is to go. Go's maps begin at random, so it is a fair sample.
const sample = 32

// victim returns the connection that is worth least, or nil when all are in use.
// The caller holds mu.
func (l *Listener) victim() *conn {
	var most *crowd
	looked := 0
	for _, c := range l.crowds {
		if most == nil || c.count > most.count {
			most = c
		}
		if looked++; looked == sample {
			break
		}
	}
	if most != nil && most.count > 1 {
		return most.first
	}
	var longest *conn
	var since time.Duration
	looked = 0
	for c := range l.conns {
		if from := c.idleSince(); from != 0 && (longest == nil || from < since) {
			longest, since = c, from
		}
		if looked++; looked == sample {
			break
		}
	}
	if longest == nil && most != nil {
		return most.first
	}
	return longest
}

// makeRoom closes one connection, and reports whether there was one.
func (l *Listener) makeRoom() bool {
	l.mu.Lock()
	victim := l.victim()
	if victim != nil {
		l.dropped++
		l.remove(victim)
	}
	l.mu.Unlock()
	if victim == nil {
		return false
	}
	_ = victim.close()
	return true
}

// overdue takes out the unauthenticated connections that are too many at a time, and
// appends them to dst. The caller holds mu.
func (l *Listener) overdue(now time.Duration, dst []*conn) []*conn {
	if l.limits.Unauthenticated == 0 {
		return dst
	}
	for _, crowd := range l.crowds {
		if crowd.count <= l.limits.Unauthenticated {
			continue
		}
		old := 0
		for c := crowd.first; c != nil && now-c.accepted >= l.limits.Grace; c = c.newer {
			old++
		}
		for ; old > l.limits.Unauthenticated; old-- {
			dst = append(dst, crowd.first)
			l.dropped++
			l.remove(crowd.first)
		}
	}
	return dst
}
