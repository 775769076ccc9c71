package postgres

import (
	"bytes"
	"net"
	"sync"
	"testing"

	"github.com/petcat-api/petcat/internal/pgtest"
)

// network is a proxy between a store and its server that can fail.
type network struct {
	target string

	mu    sync.Mutex
	rule  func(request []byte) fate // guarded by mu; nil: everything passes
	heals chan struct{}             // guarded by mu; closed to continue hung requests
	conns map[net.Conn]bool         // guarded by mu
	ended bool                      // guarded by mu
	all   sync.WaitGroup
}

// fate is the result of a request or of a part of it.
type fate int

const (
	passes fate = iota
	hangs
	breaks     // the connection, before the server has heard of it
	breaksLate // after the server has done it, before the response
)

// newNetwork returns a network in front of the tests' server, and the URL of the database through it.
func newNetwork(t *testing.T, url string) (*network, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &network{target: server.Server(t).Address(), heals: make(chan struct{}), conns: make(map[net.Conn]bool)}
	n.all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			n.all.Go(func() { n.serve(client) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		n.heal()
		n.mu.Lock()
		n.ended = true
		for c := range n.conns {
			_ = c.Close()
		}
		n.mu.Unlock()
		n.all.Wait()
	})
	return n, pgtest.ByTCP(url, l.Addr().String())
}

// fail gives each request the fate that rule returns, until heal.
func (n *network) fail(rule func(request []byte) fate) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.rule = rule
}

// failOne gives the first request that contains a text its fate.
func (n *network) failOne(text string, f fate) {
	done := false
	n.fail(func(request []byte) fate {
		if done || !bytes.Contains(request, []byte(text)) {
			return passes
		}
		done = true
		return f
	})
}

func (n *network) heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.rule = nil
	close(n.heals)
	n.heals = make(chan struct{})
}

func (n *network) fateOf(request []byte) (fate, <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.rule == nil {
		return passes, nil
	}
	return n.rule(request), n.heals
}

// keep records connections, which are closed at the end of the test.
func (n *network) keep(conns ...net.Conn) (ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range conns {
		n.conns[c] = true
	}
	return !n.ended
}

func (n *network) drop(conns ...net.Conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
		delete(n.conns, c)
	}
}

// disconnect closes all connections, and returns when both sides are closed.
func (n *network) disconnect() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.conns {
		_ = c.Close()
	}
}

func (n *network) serve(client net.Conn) {
	postgres, err := net.Dial("tcp", n.target)
	if err != nil {
		_ = client.Close()
		return
	}
	defer n.drop(client, postgres)
	if !n.keep(client, postgres) {
		return
	}
	late := make(chan struct{})
	var responses sync.WaitGroup
	responses.Go(func() { passResponses(client, postgres, late) })
	n.passRequests(postgres, client, late)
	_ = client.Close()
	_ = postgres.Close()
	responses.Wait()
}

func (n *network) passRequests(postgres, client net.Conn, late chan struct{}) {
	buffer := make([]byte, 1<<16)
	for {
		size, err := client.Read(buffer)
		if err != nil {
			return
		}
		f, heals := n.fateOf(buffer[:size])
		switch f {
		case breaks:
			return
		case breaksLate:
			close(late)
		case hangs:
			<-heals
		case passes:
		}
		if _, err := postgres.Write(buffer[:size]); err != nil {
			return
		}
	}
}

// passResponses forwards responses until late is closed, and drops the response to the first request
// after that.
func passResponses(client, postgres net.Conn, late <-chan struct{}) {
	defer func() { _ = client.Close() }()
	buffer := make([]byte, 1<<16)
	var swallowed []byte
	for {
		size, err := postgres.Read(buffer)
		if err != nil {
			return
		}
		select {
		case <-late:
			swallowed = append(swallowed, buffer[:size]...)
			if bytes.HasSuffix(swallowed, []byte("Z\x00\x00\x00\x05I")) { // the server is ready, outside a transaction
				return
			}
			continue
		default:
		}
		if _, err := client.Write(buffer[:size]); err != nil {
			return
		}
	}
}
