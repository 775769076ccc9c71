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
	// manyStreams is how many requests may be in flight over HTTP/2, on all
	// connections. Beyond it, a stalled connection is closed. Each response that is
	// not read costs some 12 KB. Beyond mostStreams, a connection is closed even if
	// none has stalled.
	manyStreams = 512
	mostStreams = 2 * manyStreams
	// streamStall is for how long no request of a connection must end, while some are
	// in flight, for the connection to count as stalled.
	streamStall = time.Second
	// streamSample is how many connections are examined to choose the one to close.
	// Go iterates over a map from a random place, so it is a fair sample.
	streamSample = 32
	// mostCancelled is how many more requests a client may cancel on a connection
	// than are answered.
	mostCancelled = 100
)

// streams bounds the memory that requests over HTTP/2 take. One connection can have many
// requests in flight, and a client that reads no responses keeps each of them in memory
// until a timeout. If there are too many, the stalled connection with the most requests is
// closed; if there are far too many and none has stalled, the connection with the most
// requests. A client that reads its responses has few in flight, or finishes them.
//
// A client that cancels each request at once can send the next one at once. So a
// connection is also closed if its client mostly cancels.
type streams struct {
	clock clock.Clock

	mu      sync.Mutex
	running int                // requests of all peers that are not gone; guarded by mu
	peers   map[*peer]struct{} // those with requests in flight; guarded by mu
}

// peer is the other end of a connection. The streams' mu guards it.
type peer struct {
	conn      net.Conn
	running   int
	since     clock.Reading // when a request last ended, or when the first of those in flight began
	cancelled int           // how many more requests were cancelled than answered; not below 0
	gone      bool          // its connection is being closed
}

type peerKey struct{}

// context adds the peer of a TLS connection to its context, where serve finds it.
func (s *streams) context(ctx context.Context, c net.Conn) context.Context {
	if over, ok := c.(interface{ NetConn() net.Conn }); ok {
		return context.WithValue(ctx, peerKey{}, &peer{conn: over.NetConn()}) // only TLS speaks HTTP/2
	}
	return ctx
}

// serve has next answer a request, and closes connections that cost too much. If that is
// the request's own connection, it panics with http.ErrAbortHandler.
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

// begin counts a request, and returns the peer whose connection is to be closed, or nil. If
// it is the request's own, ok is false.
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

// end counts a request as answered or cancelled, and reports whether its connection is to
// be closed.
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

// victim returns the peer whose connection is to be closed, or nil. The caller holds mu.
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
