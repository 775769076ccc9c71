package socket_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"petcat/internal/clientnet"
	"petcat/internal/socket"
)

func timedOut(err error) bool {
	ne, ok := errors.AsType[net.Error](err)
	return ok && ne.Timeout()
}

// The system itself refuses the connections of those who waste them: they wait, and
// this process hears nothing of them. Connections that are open go on, and whoever
// waits is let in again.
func TestSystemRefuses(t *testing.T) {
	t.Parallel()
	const wasted = 40
	s := serveLimited(t, socket.Limits{Wasted: wasted, WastedPerSecond: wasted})
	dial := func(address string, timeout time.Duration) (net.Conn, error) {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}, Timeout: timeout}
		c, err := d.DialContext(t.Context(), "tcp", s.listener.Addr().String())
		if err == nil {
			t.Cleanup(func() { _ = c.Close() })
		}
		return c, err
	}
	const client, other = "127.0.3.1", "127.0.3.2"
	kept := s.dial(client, withKey, true)
	for s.listener.Stats().Shut == 0 {
		c, err := dial(client, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
	}
	var before socket.Stats
	for i := range 2 {
		if _, err := dial(client, 100*time.Millisecond); !timedOut(err) {
			t.Errorf("a refused one ends with %v", err)
		}
		if i == 0 { // those that came before the filter have been accepted
			before = s.listener.Stats()
		} else if after := s.listener.Stats(); after.Dropped != before.Dropped || after.Shut != 1 {
			t.Errorf("%+v, before %+v", after, before)
		}
	}
	later := s.dial(other, withKey, true) // it inherits the filter
	for name, c := range map[string]net.Conn{"the client's": kept, "another client's": later} {
		_, _ = io.WriteString(c, withKey)
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatalf("%s connection: %v", name, err)
		}
		_ = res.Body.Close()
	}
	if _, err := dial(client, 10*time.Second); err != nil {
		t.Errorf("who waits is not let in again: %v", err)
	}
	if stats := s.listener.Stats(); stats.Shut != 0 {
		t.Errorf("%+v", stats)
	}
}

// The filter finds each of many clients, of both versions of IP, and nobody else.
func TestFilter(t *testing.T) {
	t.Parallel()
	l, err := socket.Config(time.Minute).Listen(t.Context(), "tcp", "[::]:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	port := l.Addr().(*net.TCPAddr).Port
	enters := func(from string) bool {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 100 * time.Millisecond}
		to := "[::1]"
		if netip.MustParseAddr(from).Is4() {
			to = "127.0.0.1"
		}
		c, err := d.DialContext(t.Context(), "tcp", fmt.Sprintf("%s:%d", to, port))
		if err == nil {
			_ = c.Close()
		} else if !timedOut(err) {
			t.Fatal(err)
		}
		return err == nil
	}
	// Those whose halves are the same as of those who try are among them.
	others := func(format string, count int) (clients []clientnet.Net) {
		for i := range count {
			clients = append(clients, clientnet.Of(netip.MustParseAddr(fmt.Sprintf(format, i+2))))
		}
		return clients
	}
	v4, v6 := clientnet.Of(netip.MustParseAddr("127.0.3.1")), clientnet.Of(netip.MustParseAddr("::1"))
	for _, c := range []struct {
		name    string
		clients []clientnet.Net
		v4, v6  bool // who enters
	}{
		{"one of IPv4", []clientnet.Net{v4}, false, true},
		{"one of IPv6", []clientnet.Net{v6}, true, false},
		{"both", []clientnet.Net{v6, v4}, false, false},
		{"others", append(others("127.0.3.%d", 62), append(others("0:0:0:%x::", 32), others("0:%x::", 32)...)...), true, true},
		{"the last of 128 of IPv4", append(others("127.0.3.%d", 127), v4), false, true},
		{"the last of 128 of IPv6", append(others("0:%x::", 127), v6), true, false},
		{"nobody", nil, true, true},
	} {
		socket.Filter(l.(*net.TCPListener), c.clients)
		if v4, v6 := enters("127.0.3.1"), enters("::1"); v4 != c.v4 || v6 != c.v6 {
			t.Errorf("%s: IPv4 enters: %t, want %t; IPv6: %t, want %t", c.name, v4, c.v4, v6, c.v6)
		}
	}
}
