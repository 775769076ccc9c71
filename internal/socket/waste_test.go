package socket_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"petcat/internal/socket"
)

// arriving is a listener whose connections are handed to it.
type arriving struct {
	net.Listener
	conns chan net.Conn
	end   chan struct{}
	once  sync.Once
}

func (a *arriving) Accept() (net.Conn, error) {
	select {
	case c := <-a.conns:
		return c, nil
	case <-a.end:
		return nil, net.ErrClosed
	}
}

func (a *arriving) Close() error {
	a.once.Do(func() { close(a.end) })
	return nil
}

// from is a connection of an address.
type from struct {
	net.Conn
	address string
}

func (f from) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(f.address), 1))
}

// wasting is a listener in virtual time, and how its connections end.
type wasting struct {
	t        *testing.T
	below    *arriving
	listener *socket.Listener
	accepted chan net.Conn
}

func newWasting(t *testing.T, limits socket.Limits) *wasting {
	t.Helper()
	below := &arriving{conns: make(chan net.Conn), end: make(chan struct{})}
	w := &wasting{t: t, below: below, listener: socket.New(below, socket.Timeouts{}), accepted: make(chan net.Conn, 1)}
	w.listener.Limit(limits)
	var done sync.WaitGroup
	done.Go(func() {
		for {
			c, err := w.listener.Accept()
			if err != nil {
				if !errors.Is(err, net.ErrClosed) {
					t.Error(err)
				}
				return
			}
			w.accepted <- c
		}
	})
	t.Cleanup(func() {
		_ = below.Close()
		done.Wait()
		w.listener.CloseConns()
		<-time.After(2 * socket.Tick) // its clock stops
	})
	return w
}

// connect returns the listener's end of a new connection, or nil when it is refused.
func (w *wasting) connect(address string) net.Conn {
	w.t.Helper()
	client, server := net.Pipe()
	w.t.Cleanup(func() { _ = client.Close() })
	go func() { _, _ = io.Copy(io.Discard, client) }()
	w.below.conns <- from{server, address}
	synctest.Wait()
	select {
	case c := <-w.accepted:
		return c
	default:
		return nil
	}
}

// waste wastes connections until one is refused, but at most so many.
func (w *wasting) waste(address string, most int) (wasted int) {
	w.t.Helper()
	for ; wasted < most; wasted++ {
		c := w.connect(address)
		if c == nil {
			break
		}
		_ = c.Close()
	}
	return wasted
}

// serve has a connection answered as one with a valid key is.
func (w *wasting) serve(address string) {
	w.t.Helper()
	c := w.connect(address)
	if c == nil {
		w.t.Fatalf("%s is refused", address)
	}
	socket.MarkAuthenticated(socket.Context(w.t.Context(), c))
	if _, err := io.WriteString(c, "answer"); err != nil {
		w.t.Fatal(err)
	}
	_ = c.Close()
}

func inBubble(t *testing.T, name string, limits socket.Limits, test func(*testing.T, *wasting)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(t, newWasting(t, limits)) })
	})
}

// Who wastes connections is refused until it may waste some again; nobody else is.
func TestWastedConnections(t *testing.T) {
	limits := socket.Limits{Wasted: 50, WastedPerSecond: 10, Exempt: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}
	const client, other = "198.51.100.1", "198.51.100.2"

	inBubble(t, "50 at once, and 10 with each second", limits, func(t *testing.T, w *wasting) {
		if n := w.waste(client, 1000); n != 50 {
			t.Errorf("%d were wasted at once", n)
		}
		if s := w.listener.Stats(); s.Shut != 1 || s.Dropped != 1 || s.Open != 0 {
			t.Errorf("%+v", s)
		}
		if w.connect(client) != nil || w.listener.Stats().Dropped != 2 {
			t.Error("another one was not refused")
		}
		if n := w.waste(other, 10); n != 10 {
			t.Errorf("another client could waste %d of 10", n)
		}
		<-time.After(time.Second + 2*socket.Tick)
		if s := w.listener.Stats(); s.Shut != 0 {
			t.Errorf("after a second: %+v", s)
		}
		if n := w.waste(client, 1000); n < 10 || n > 15 {
			t.Errorf("%d were wasted a second later", n)
		}
		<-time.After(time.Hour)
		if n := w.waste(client, 1000); n != 50 {
			t.Errorf("%d were wasted an hour later", n)
		}
	})
	inBubble(t, "one that never stops", limits, func(t *testing.T, w *wasting) {
		n := 0
		for end := time.Now().Add(time.Minute); time.Now().Before(end); <-time.After(10 * time.Millisecond) {
			n += w.waste(client, 10)
		}
		if want := 50 + 60*10; n < want-20 || n > want+20 {
			t.Errorf("%d were wasted in a minute, want %d", n, want)
		}
	})
	inBubble(t, "those that were open cost afterwards, for a minute at most", limits, func(t *testing.T, w *wasting) {
		var conns []net.Conn
		for range 10_000 {
			conns = append(conns, w.connect(client))
		}
		for _, c := range conns {
			if c == nil {
				t.Fatal("one was refused before any was wasted")
			}
			_ = c.Close()
		}
		for begin := time.Now(); w.connect(client) == nil; <-time.After(socket.Tick) {
			if took := time.Since(begin); took > time.Minute+time.Second+2*socket.Tick {
				t.Fatalf("it is refused after %s", took)
			}
		}
	})
	inBubble(t, "the ones that are served pay", limits, func(t *testing.T, w *wasting) {
		for range 1000 {
			w.serve(client)
			if n := w.waste(client, 2); n != 2 {
				t.Fatal("one was refused")
			}
		}
		if n := w.waste(client, 1000); n < 45 || n > 50 {
			t.Errorf("%d were wasted then", n)
		}
	})
	inBubble(t, "a key whose answer nobody takes", limits, func(t *testing.T, w *wasting) {
		for range 50 {
			c := w.connect(client)
			socket.MarkAuthenticated(socket.Context(t.Context(), c))
			_ = c.Close()
		}
		if w.connect(client) != nil {
			t.Error("one was not refused")
		}
	})
	inBubble(t, "who counts as one", limits, func(t *testing.T, w *wasting) {
		for i := range 50 {
			w.waste(fmt.Sprintf("2001:db8::%x:1", i), 1)
		}
		if w.connect("2001:db8::1") != nil || w.connect("2001:db8:0:1::1") == nil {
			t.Error("it is not the network of 64 bits")
		}
		if n := w.waste("192.0.2.1", 100); n != 100 {
			t.Errorf("an exempt one could waste %d", n)
		}
	})
}
