package server

import (
	"net"
	"testing"

	"petcat/internal/clock"
)

// Past the bound the connection with most requests goes, and before it one that
// gets nowhere; one that gets on does not, however much it asks.
func TestStreams(t *testing.T) {
	t.Parallel()
	now := clock.Reading{}
	var s streams
	newPeer := func() *peer { c, _ := net.Pipe(); return &peer{conn: c} }
	begin := func(p *peer, n int) (victims []*peer) {
		for range n {
			if v, _ := s.begin(p, now); v != nil {
				victims = append(victims, v)
			}
		}
		return victims
	}
	stuck := []*peer{newPeer(), newPeer()}
	begin(stuck[0], 40)
	begin(stuck[1], 60)
	now.Mono += int64(streamStall)
	busy := newPeer()
	if v := begin(busy, manyStreams-100); v != nil {
		t.Fatalf("%d went within the bound", len(v))
	}
	if v := begin(busy, 1); len(v) != 1 || v[0] != stuck[1] {
		t.Fatalf("%v: it is not the one with most that are stuck", v)
	}
	if _, ok := s.begin(stuck[1], now); ok {
		t.Error("a connection that was closed is served")
	}
	s.end(stuck[1], now, false)
	if want := manyStreams - 100 + 1 + 40; s.running != want {
		t.Errorf("%d are under way, want %d", s.running, want)
	}
	if v := begin(busy, 60); len(v) != 1 || v[0] != stuck[0] {
		t.Fatalf("%v: it is not the last that is stuck", v)
	}
	// Now there is none that is stuck, until there are far too many.
	other := newPeer()
	begin(other, 1)
	if v := begin(busy, mostStreams-s.running); v != nil {
		t.Errorf("%d went though they got on", len(v))
	}
	if v, ok := s.begin(busy, now); v != busy || ok {
		t.Error("past the second bound the one with most does not go")
	}
	if s.end(other, now, false); s.running != 0 || len(s.peers) != 0 {
		t.Errorf("%d are under way of %d", s.running, len(s.peers))
	}
}

// A connection whose client mostly cancels its requests is closed; one that takes
// as many answers is not.
func TestCancelledStreams(t *testing.T) {
	t.Parallel()
	now := clock.Reading{}
	var s streams
	one := func(p *peer, cancelled bool) (closed bool) {
		_, ok := s.begin(p, now)
		return s.end(p, now, cancelled) || !ok
	}
	fair, harsh := &peer{}, &peer{}
	for i := range 10 * mostCancelled {
		if one(fair, i%2 == 0) {
			t.Fatalf("a fair client is closed after %d requests", i)
		}
	}
	for i := range mostCancelled {
		if one(harsh, true) {
			t.Fatalf("it is closed after %d requests that were cancelled", i)
		}
	}
	for range 2 {
		if !one(harsh, true) {
			t.Error("it is not closed for good")
		}
	}
	if s.running != 0 || len(s.peers) != 0 {
		t.Errorf("%d are under way of %d", s.running, len(s.peers))
	}
}
