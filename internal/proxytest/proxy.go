// Package proxytest has a TCP proxy that makes a network fail, for tests alone. It is a process
// of its own: one in the process of a busy test would be as late as that.
package proxytest

import (
	"net"
	"testing"
	"time"

	"petcat/internal/processtest"
)

// Proxy is a TCP proxy that makes a network fail. It can be used by several goroutines.
type Proxy struct {
	tb      testing.TB
	process *processtest.Process
	address string
}

// New starts a proxy in front of an address. It ends with the test.
func New(tb testing.TB, target string) *Proxy {
	tb.Helper()
	process, err := processtest.Start(name)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(process.End)
	address, err := process.Ask(listen + " " + target)
	if err != nil {
		tb.Fatal(err)
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		tb.Fatal(address)
	}
	return &Proxy{tb, process, address}
}

// Address returns where the proxy listens.
func (p *Proxy) Address() string { return p.address }

// Cut swallows everything from now on, as a network does that is cut.
func (p *Proxy) Cut() { p.tell(cut) }

// Delay holds up every piece of an answer.
func (p *Proxy) Delay(d time.Duration) { p.tell(delay + " " + d.String()) }

// Reset ends all connections with a reset and refuses new ones.
func (p *Proxy) Reset() { p.tell(reset) }

// Drop ends all connections with a reset; new ones are welcome.
func (p *Proxy) Drop() { p.tell(drop) }

// Heal ends all of that.
func (p *Proxy) Heal() { p.tell(heal) }

func (p *Proxy) tell(what string) {
	p.tb.Helper()
	if answer, err := p.process.Ask(what); err != nil || answer != done {
		p.tb.Errorf("the proxy was to %s: %s %v", what, answer, err)
	}
}
