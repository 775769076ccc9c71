package socket_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"petcat/internal/socket"
)

// limited is a server with limits. A request with a key authenticates its connection;
// one for /wait holds it in use until the test ends.
type limited struct {
	t        *testing.T
	listener *socket.Listener
	held     atomic.Int32 // requests for /wait that have come
}

func serveLimited(t *testing.T, limits socket.Limits) *limited {
	t.Helper()
	l := socket.New(listen(t), socket.Timeouts{Header: time.Minute, Body: time.Minute, Write: time.Minute, Idle: time.Minute})
	l.Limit(limits)
	s := &limited{t: t, listener: l}
	over := make(chan struct{})
	server := &http.Server{ConnState: note(l), ConnContext: socket.Context, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Key") != "" {
			socket.MarkAuthenticated(r.Context())
		}
		if r.URL.Path == "/wait" {
			s.held.Add(1)
			<-over
		}
	})}
	var done sync.WaitGroup
	done.Go(func() { _ = server.Serve(l) })
	t.Cleanup(func() {
		close(over)
		_ = server.Close()
		done.Wait()
	})
	return s
}

// hold connects and sends a request that is under way when it returns.
func (s *limited) hold(from string) net.Conn {
	s.t.Helper()
	before := s.held.Load()
	c := s.dial(from, waiting, false)
	s.eventually("the request is under way", func() bool { return s.held.Load() > before })
	return c
}

// dial connects from an address of this machine and sends requests.
func (s *limited) dial(from, request string, answered bool) net.Conn {
	s.t.Helper()
	before := s.listener.Stats()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.DialContext(s.t.Context(), "tcp", s.listener.Addr().String())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	_, _ = io.WriteString(c, request)
	if answered {
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			s.t.Fatal(err)
		}
		_ = res.Body.Close()
		return c
	}
	s.eventually("it is accepted", func() bool {
		now := s.listener.Stats()
		return now.Open > before.Open || now.Dropped > before.Dropped
	})
	return c
}

func (s *limited) eventually(what string, holds func() bool) {
	s.t.Helper()
	for end := time.Now().Add(5 * time.Second); !holds(); <-time.After(time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("waited in vain until %s", what)
		}
	}
}

// open counts the connections that the server has not closed.
func open(conns ...net.Conn) (n int) {
	for _, c := range conns {
		_ = c.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
		if _, err := c.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
			n++
		}
	}
	return n
}

const (
	withKey    = "GET / HTTP/1.1\r\nHost: x\r\nKey: good\r\n\r\n"
	withoutKey = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
	waiting    = "GET /wait HTTP/1.1\r\nHost: x\r\nKey: good\r\n\r\n"
)

// Of an address's connections that have shown nothing, the newest stay; those
// that have shown a key are not counted, nor are those of exempt addresses.
func TestUnauthenticatedConnections(t *testing.T) {
	t.Parallel()
	s := serveLimited(t, socket.Limits{
		Unauthenticated: 5, Grace: 500 * time.Millisecond, Exempt: []netip.Prefix{netip.MustParsePrefix("127.0.0.3/32")},
	})
	var silent, anonymous, authenticated, exempt, elsewhere []net.Conn
	for range 12 {
		silent = append(silent, s.dial("127.0.0.1", "", false))
		anonymous = append(anonymous, s.dial("127.0.0.2", withoutKey, true))
		authenticated = append(authenticated, s.dial("127.0.0.2", withKey, true))
		exempt = append(exempt, s.dial("127.0.0.3", "", false))
	}
	for range 5 {
		elsewhere = append(elsewhere, s.dial("127.0.0.4", "", false))
	}
	if n := open(silent...); n != 12 {
		t.Errorf("%d of 12 are open within the grace", n)
	}
	s.eventually("the oldest are closed", func() bool { return s.listener.Stats().Dropped == 14 })
	<-time.After(2 * socket.Tick)
	for name, c := range map[string]struct{ old, young []net.Conn }{
		"silent":        {silent[:7], silent[7:]},
		"anonymous":     {anonymous[:7], anonymous[7:]},
		"authenticated": {nil, authenticated},
		"exempt":        {nil, exempt},
		"elsewhere":     {nil, elsewhere},
	} {
		if n := open(c.old...); n != 0 {
			t.Errorf("%s: %d of the %d oldest are open", name, n, len(c.old))
		}
		if n := open(c.young...); n != len(c.young) {
			t.Errorf("%s: %d of the %d others are open", name, n, len(c.young))
		}
	}
	if stats := s.listener.Stats(); stats.Open != 5+5+12+12+5 || stats.Unauthenticated != 15 {
		t.Errorf("%+v", stats)
	}
}

// At the limit of all connections a new one takes the place of one that is worth
// less.
func TestTotalOfConnections(t *testing.T) {
	t.Parallel()
	s := serveLimited(t, socket.Limits{Total: 6})
	var silent []net.Conn
	for range 5 {
		silent = append(silent, s.dial("127.0.0.1", "", false))
	}
	alone := s.dial("127.0.0.2", "", false)
	var used []net.Conn
	for range 4 {
		used = append(used, s.dial("127.0.0.3", withKey, true))
	}
	if open(silent[:4]...) != 0 || open(silent[4], alone) != 2 || open(used...) != 4 {
		t.Fatal("it is not the oldest of the largest crowd that went")
	}
	// Nobody else is in a crowd: the connection that has been idle longest goes, and one with
	// a request does not.
	for range 4 {
		<-time.After(2 * socket.Tick) // so that they are idle for different times
		used = append(used, s.hold("127.0.0.3"))
	}
	if n := open(used[:4]...); n != 0 {
		t.Errorf("%d of those that were idle are open", n)
	}
	if n := open(used[4:]...); n != 4 {
		t.Errorf("%d of 4 requests go on", n)
	}
	// And then, those who said nothing.
	used = append(used, s.hold("127.0.0.3"), s.hold("127.0.0.3"))
	if open(silent[4], alone) != 0 || open(used[4:]...) != 6 {
		t.Error("a request had to go before a silent connection")
	}
	if late := s.dial("127.0.0.5", "", false); open(late) != 0 || open(used[4:]...) != 6 {
		t.Error("a new connection took the place of a request")
	}
	if stats := s.listener.Stats(); stats.Open != 6 {
		t.Errorf("%+v", stats)
	}
}

// Who opens many connections at once and then shows a key on each keeps them all.
func TestManyConnectionsAtOnce(t *testing.T) {
	t.Parallel()
	s := serveLimited(t, socket.Limits{Unauthenticated: 5, Grace: time.Second})
	var conns []net.Conn
	for range 64 {
		conns = append(conns, s.dial("127.0.0.1", "", false))
	}
	for _, c := range conns {
		_, _ = io.WriteString(c, withKey)
	}
	for _, c := range conns {
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
	}
	<-time.After(time.Second + 2*socket.Tick)
	if n := open(conns...); n != 64 {
		t.Errorf("%d of 64 are open", n)
	}
}

// failing fails to accept so many times, as a process without descriptors does.
type failing struct {
	net.Listener
	left int
}

func (f *failing) Accept() (net.Conn, error) {
	if f.left > 0 {
		f.left--
		return nil, errors.New("too many open files")
	}
	return f.Listener.Accept()
}

// When nothing can be accepted, a connection that is worth little makes room at
// once; without one, whoever accepts is told.
func TestAcceptFails(t *testing.T) {
	t.Parallel()
	below := &failing{Listener: listen(t)}
	l := socket.New(below, socket.Timeouts{})
	dial := func() net.Conn {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	first := dial()
	if _, err := l.Accept(); err != nil {
		t.Fatal(err)
	}
	below.left = 1
	second := dial()
	accepted, err := l.Accept()
	if err != nil || open(first) != 0 || open(second) != 1 {
		t.Errorf("%v, %d and %d open", err, open(first), open(second))
	}
	_ = accepted.Close()
	below.left = 1
	if _, err := l.Accept(); err == nil {
		t.Error("a failure is not told")
	}
	if stats := l.Stats(); stats.Failures != 2 || stats.Dropped != 1 || stats.Open != 0 {
		t.Errorf("%+v", stats)
	}
}

// At the end, reads can be ended while answers still go out.
func TestStopReads(t *testing.T) {
	t.Parallel()
	l := socket.New(listen(t), socket.Timeouts{Body: time.Minute})
	reading := make(chan struct{})
	server := &http.Server{ConnState: note(l), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(reading)
		if _, err := io.ReadAll(r.Body); errors.Is(err, os.ErrDeadlineExceeded) {
			w.WriteHeader(http.StatusRequestTimeout)
		}
	})}
	var done sync.WaitGroup
	done.Go(func() { _ = server.Serve(l) })
	t.Cleanup(func() {
		_ = server.Shutdown(context.WithoutCancel(t.Context()))
		done.Wait()
	})
	dial := func() net.Conn {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	unused, busy := dial(), dial()
	_, _ = io.WriteString(busy, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n123")
	<-reading
	l.CloseNew()
	if open(unused) != 0 || open(busy) != 1 {
		t.Error("it is not the unused one that was closed")
	}
	l.StopReads()
	_ = busy.SetReadDeadline(time.Now().Add(5 * time.Second))
	res, err := http.ReadResponse(bufio.NewReader(busy), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusRequestTimeout {
		t.Errorf("answered with %d", res.StatusCode)
	}
}
