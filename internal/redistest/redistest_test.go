package redistest_test

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"petcat/internal/redistest"
)

func TestServer(t *testing.T) {
	s := redistest.Start(t)
	s.MustDo("SET", "a", "1")
	if got := s.MustDo("MGET", "a", "b"); got != "1\n" {
		t.Errorf("MGET answers %q", got)
	}
	if _, err := s.Do("NONSENSE"); err == nil || !strings.Contains(err.Error(), "unknown command") {
		t.Errorf("NONSENSE: %v", err)
	}

	s.Hang()
	if _, err := s.Do("PING"); err == nil {
		t.Error("a server that hangs answers")
	}
	s.Resume()
	if got := s.MustDo("GET", "a"); got != "1" {
		t.Errorf("after hanging it holds %q", got)
	}

	s.Kill()
	if _, err := s.Do("PING"); err == nil {
		t.Error("a server that was killed answers")
	}
	s.Restart()
	if got := s.MustDo("GET", "a"); got != "" {
		t.Errorf("after a restart it holds %q", got)
	}
}

// TestTakeOver: a replica that is left behind listens in the place of its primary.
func TestTakeOver(t *testing.T) {
	primary := redistest.Start(t)
	proxy := redistest.NewProxy(t, primary.Address())
	primary.MustDo("SET", "a", "1")
	replica := redistest.Start(t)
	replica.Follow(proxy.Address())
	proxy.Cut()
	primary.MustDo("SET", "a", "2")
	address := primary.Address()
	primary.Kill()
	replica.TakeOver(primary)
	if replica.Address() != address {
		t.Errorf("it listens on %s; want %s", replica.Address(), address)
	}
	if got := replica.MustDo("GET", "a"); got != "1" {
		t.Errorf("it holds %q, want what it heard of before the cut", got)
	}
	replica.MustDo("SET", "a", "3")
	replica.Restart()
	if got := replica.MustDo("GET", "a"); got != "" || replica.Address() != address {
		t.Errorf("after a restart it holds %q and listens on %s", got, replica.Address())
	}
}

func TestProxy(t *testing.T) {
	s := redistest.Start(t)
	p := redistest.NewProxy(t, s.Address())
	var conn net.Conn
	connect := func() error {
		c, err := net.Dial("tcp", p.Address())
		if err != nil {
			return err
		}
		conn = c
		t.Cleanup(func() { _ = c.Close() })
		return nil
	}
	dial := func() {
		t.Helper()
		if err := connect(); err != nil {
			t.Fatal(err)
		}
	}
	ping := func(timeout time.Duration) error {
		_ = conn.SetDeadline(time.Now().Add(timeout))
		if _, err := io.WriteString(conn, "PING\r\n"); err != nil {
			return err
		}
		_, err := io.ReadFull(conn, make([]byte, len("+PONG\r\n")))
		return err
	}
	dial()
	if err := ping(time.Second); err != nil {
		t.Fatalf("through the proxy: %v", err)
	}
	p.Delay(200 * time.Millisecond)
	if err := ping(100 * time.Millisecond); err == nil {
		t.Error("an answer that is delayed came at once")
	}
	p.Cut()
	dial()
	if err := ping(100 * time.Millisecond); err == nil {
		t.Error("an answer came through a cut")
	}
	p.Heal()
	dial()
	if err := ping(time.Second); err != nil {
		t.Errorf("after the cut: %v", err)
	}
	p.Drop()
	if err := ping(time.Second); err == nil {
		t.Error("a connection that was reset answers")
	}
	p.Reset()
	// The reset may arrive before dialing has noticed that it was connected.
	if err := connect(); err == nil && ping(time.Second) == nil {
		t.Error("a connection that was refused answers")
	}
}
