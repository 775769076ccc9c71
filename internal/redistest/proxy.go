package redistest

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy is a TCP proxy that makes a network fail.
type Proxy struct {
	listener net.Listener
	target   string
	done     sync.WaitGroup

	mu     sync.Mutex
	conns  map[net.Conn]bool // guarded by mu
	state  proxyState        // guarded by mu
	change chan struct{}     // closed when state changes; guarded by mu
}

type proxyState struct {
	cut    bool          // bytes are swallowed, connections are taken and never answered
	refuse bool          // connections are reset
	delay  time.Duration // of every piece of an answer
}

// NewProxy starts a proxy in front of an address. It ends with the test.
func NewProxy(tb testing.TB, target string) *Proxy {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{listener: l, target: target, conns: make(map[net.Conn]bool), change: make(chan struct{})}
	p.done.Go(p.accept)
	tb.Cleanup(p.close)
	return p
}

// Address returns where the proxy listens.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// URL returns the URL of the server behind the proxy.
func (p *Proxy) URL() string { return "redis://" + p.Address() }

// Cut swallows everything from now on, as a network does that is cut.
func (p *Proxy) Cut() { p.set(proxyState{cut: true}) }

// Delay holds up every piece of an answer.
func (p *Proxy) Delay(d time.Duration) { p.set(proxyState{delay: d}) }

// Reset ends all connections with a reset and refuses new ones.
func (p *Proxy) Reset() {
	p.set(proxyState{refuse: true})
	p.drop()
}

// Drop ends all connections with a reset; new ones are welcome.
func (p *Proxy) Drop() { p.drop() }

// Heal ends all of that.
func (p *Proxy) Heal() { p.set(proxyState{}) }

func (p *Proxy) set(s proxyState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state = s
	close(p.change)
	p.change = make(chan struct{})
}

func (p *Proxy) now() (proxyState, chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state, p.change
}

func (p *Proxy) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // a reset instead of a farewell
		}
		_ = c.Close()
	}
}

func (p *Proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.done.Go(func() { p.serve(c) })
	}
}

func (p *Proxy) serve(client net.Conn) {
	// Kept before it is looked at: Reset drops it, or it is refused here.
	p.keep(client)
	defer p.forget(client)
	if s, _ := p.now(); s.refuse {
		_ = client.(*net.TCPConn).SetLinger(0)
		return
	}
	server, err := net.DialTimeout("tcp", p.target, time.Second)
	if err != nil {
		return
	}
	p.keep(server)
	defer p.forget(server)
	var both sync.WaitGroup
	both.Go(func() { p.copy(server, client, false) })
	both.Go(func() { p.copy(client, server, true) })
	both.Wait()
}

func (p *Proxy) keep(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[c] = true
}

func (p *Proxy) forget(c net.Conn) {
	_ = c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

// copy passes on what comes until either side ends, which ends the other.
func (p *Proxy) copy(to, from net.Conn, answer bool) {
	defer func() {
		_ = to.Close()
		_ = from.Close()
	}()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && !p.pass(to, buffer[:n], answer) {
			return
		}
		if err != nil {
			return
		}
	}
}

// pass writes a piece as the state has it. What is cut stays lost: a stream with
// a hole cannot be healed, so the connection ends with the cut.
func (p *Proxy) pass(to io.Writer, piece []byte, answer bool) bool {
	s, change := p.now()
	if s.cut {
		<-change
		return false
	}
	if s.delay > 0 && answer {
		select {
		case <-time.After(s.delay):
		case <-change:
		}
	}
	_, err := to.Write(piece)
	return err == nil
}

func (p *Proxy) close() {
	_ = p.listener.Close()
	p.Reset()
	p.done.Wait()
}
