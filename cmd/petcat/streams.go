package main

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
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
)

// streams bounds what HTTP/2 costs. There one connection has many requests under
// way, and a client that takes no answers keeps each of them waiting for as long
// as the timeouts let it. Where there are too many, the connection with most of
// them is closed, among those that have stalled if there are any: who takes
// answers has few under way, or gets on.
type streams struct {
	mu      sync.Mutex
	running int                // of all peers that are not gone; guarded by mu
	peers   map[*peer]struct{} // those with requests under way; guarded by mu
}

// peer is the other end of a connection. The streams' mu guards it.
type peer struct {
	conn    net.Conn
	running int
	since   time.Time // when a request ended last, or the first of these began
	gone    bool
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
	victim, ok := s.begin(p, time.Now())
	if victim != nil {
		_ = victim.conn.Close()
	}
	if !ok {
		panic(http.ErrAbortHandler) // nobody reads the answer
	}
	defer func() { s.end(p, time.Now()) }()
	next.ServeHTTP(w, r)
}

// begin counts a request, and returns whose connection is to be closed for it; ok
// is false when its own is.
func (s *streams) begin(p *peer, now time.Time) (victim *peer, ok bool) {
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
		victim.gone = true
		s.running -= victim.running
		delete(s.peers, victim)
	}
	return victim, !p.gone
}

// end takes a request that was answered off the count.
func (s *streams) end(p *peer, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.gone {
		return
	}
	p.running--
	s.running--
	p.since = now
	if p.running == 0 {
		delete(s.peers, p)
	}
}

// victim returns the peer that is to go, or nil for none yet. The caller holds mu.
func (s *streams) victim(now time.Time) *peer {
	var stalled, most *peer
	looked := 0
	for p := range s.peers {
		if most == nil || p.running > most.running {
			most = p
		}
		if now.Sub(p.since) >= streamStall && (stalled == nil || p.running > stalled.running) {
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
