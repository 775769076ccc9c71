package proxytest

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"petcat/internal/processtest"
)

// name is how a test's binary is called as a proxy.
const name = "petcat-proxy"

func init() { processtest.Main(name, newNetwork) } //nolint:gochecknoinits // no package's tests need to know of it

// What a proxy is told to do: a word, and for the first two what follows.
const (
	listen = "listen" // in front of an address; the answer is where
	delay  = "delay"
	cut    = "cut"
	reset  = "reset"
	drop   = "drop"
	heal   = "heal"
)

// done is the answer to what was done. Every other one but an address is an error.
const done = "done"

// network is a proxy in its own process.
type network struct {
	target string // set before the first connection

	mu     sync.Mutex
	conns  map[net.Conn]bool // guarded by mu
	state  state             // guarded by mu
	change chan struct{}     // closed when state changes; guarded by mu
}

type state struct {
	cut    bool          // bytes are swallowed, connections are taken and never answered
	refuse bool          // connections are reset
	delay  time.Duration // of every piece of an answer
}

func newNetwork() (answer func(question string) string) {
	p := &network{conns: make(map[net.Conn]bool), change: make(chan struct{})}
	return func(question string) string {
		what, operand, _ := strings.Cut(question, " ")
		switch what {
		case listen:
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err.Error()
			}
			p.target = operand
			go p.accept(l)
			return l.Addr().String()
		case delay:
			d, err := time.ParseDuration(operand)
			if err != nil {
				return err.Error()
			}
			p.set(state{delay: d})
		case cut:
			p.set(state{cut: true})
		case reset:
			p.set(state{refuse: true})
			p.drop()
		case drop:
			p.drop()
		case heal:
			p.set(state{})
		default:
			return fmt.Sprintf("%q is nothing that a proxy does", what)
		}
		return done
	}
}

func (p *network) set(s state) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state = s
	close(p.change)
	p.change = make(chan struct{})
}

func (p *network) now() (state, chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state, p.change
}

func (p *network) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // a reset instead of a farewell
		}
		_ = c.Close()
	}
}

func (p *network) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go p.serve(c)
	}
}

func (p *network) serve(client net.Conn) {
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

func (p *network) keep(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[c] = true
}

func (p *network) forget(c net.Conn) {
	_ = c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

// copy passes on what comes until either side ends, which ends the other.
func (p *network) copy(to, from net.Conn, answer bool) {
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
func (p *network) pass(to io.Writer, piece []byte, answer bool) bool {
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
