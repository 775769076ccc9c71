package server

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"petcat/internal/clock"
	"petcat/internal/socket"
)

const (
	// manyStreams is how many requests may be under way over HTTP/2, on all
	// connections, before one is looked for that has stalled; each that is not
	// read costs some 12 KB. mostStreams is where one has to go in any case.
	manyStreams = 512
	mostStreams = 2 * manyStreams
	// streamStall is how long a connection with requests under way finishes none
	// of them before it counts as stalled.
	streamStall = time.Second
	// streamSample is how many connections are looked at to find the one that is
	// to go. Go's maps begin at random, so it is a fair sample.
	streamSample = 32
	// mostCancelled is how many more requests a client may cancel on a connection
	// than it takes answers.
	mostCancelled = 100
)

// streams bounds what HTTP/2 costs. There one connection has many requests under
// way, and a client that takes no answers keeps each of them waiting for as long
// as the timeouts let it. Where there are too many, the connection with most of
// them is closed, among those that have stalled if there are any: who takes
// answers has few under way, or gets on.
//
// A request that is cancelled at once makes room for another at once, so that a
// connection is closed, too, whose client mostly cancels.
type streams struct {
	clock clock.Clock

	mu      sync.Mutex
	running int                // of all peers that are not gone; guarded by mu
	peers   map[*peer]struct{} // those with requests under way; guarded by mu
}

// peer is the other end of a connection. The streams' mu guards it.
type peer struct {
	conn      net.Conn
	running   int
	since     clock.Reading // when a request ended last, or the first of these began
	cancelled int           // how many more than were answered
	gone      bool
}

type peerKey struct{}

// context lets serve find the connection of a request.
func (s *streams) context(ctx context.Context, c net.Conn) context.Context {
	if over, ok := c.(interface{ NetConn() net.Conn }); ok {
		return context.WithValue(ctx, peerKey{}, &peer{conn: over.NetConn()}) // only TLS speaks HTTP/2
	}
	return ctx
}

// serve lets a handler answer a request.
func (s *streams) serve(next http.Handler, w http.ResponseWriter, r *http.Request) {
	p, ok := r.Context().Value(peerKey{}).(*peer)
	if !ok {
		next.ServeHTTP(w, r)
		return
	}
	victim, ok := s.begin(p, s.clock.Read())
	if victim != nil {
		socket.Cut(victim.conn)
	}
	if !ok {
		panic(http.ErrAbortHandler) // nobody reads the answer
	}
	defer func() {
		if s.end(p, s.clock.Read(), r.Context().Err() != nil) {
			socket.Cut(p.conn)
		}
	}()
	if r.Context().Err() == nil { // else nobody reads the answer
		next.ServeHTTP(w, r)
	}
}

// begin counts a request, and returns whose connection is to be closed for it; ok
// is false when its own is.
func (s *streams) begin(p *peer, now clock.Reading) (victim *peer, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.gone {
		return nil, false
	}
	if p.running == 0 {
		if s.peers == nil {
			s.peers = make(map[*peer]struct{})
		}
		s.peers[p] = struct{}{}
		p.since = now
	}
	p.running++
	s.running++
	if s.running <= manyStreams {
		return nil, true
	}
	if victim = s.victim(now); victim != nil {
		s.remove(victim)
	}
	return victim, !p.gone
}

// end takes a request that was answered, or cancelled, off the count, and reports
// whether its connection is to be closed.
func (s *streams) end(p *peer, now clock.Reading, cancelled bool) (closes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.gone {
		return false
	}
	p.running--
	s.running--
	p.since = now
	if cancelled {
		p.cancelled++
	} else {
		p.cancelled = max(0, p.cancelled-1)
	}
	if p.cancelled > mostCancelled {
		s.remove(p)
		return true
	}
	if p.running == 0 {
		delete(s.peers, p)
	}
	return false
}

// remove forgets a peer whose connection is to be closed. The caller holds mu.
func (s *streams) remove(p *peer) {
	p.gone = true
	s.running -= p.running
	delete(s.peers, p)
}

// victim returns the peer that is to go, or nil for none yet. The caller holds mu.
func (s *streams) victim(now clock.Reading) *peer {
	var stalled, most *peer
	looked := 0
	for p := range s.peers {
		if most == nil || p.running > most.running {
			most = p
		}
		if now.Since(p.since) >= streamStall && (stalled == nil || p.running > stalled.running) {
			stalled = p
		}
		if looked++; looked == streamSample {
			break
		}
	}
	if stalled == nil && s.running > mostStreams {
		return most
	}
	return stalled
}
