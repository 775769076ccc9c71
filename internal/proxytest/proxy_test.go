package proxytest_test

import (
	"io"
	"net"
	"testing"
	"time"

	"petcat/internal/proxytest"
)

// answers starts a server that answers each byte by the same one, and returns where.
func answers(t *testing.T) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}()
		}
	}()
	return l.Addr().String()
}

func TestProxy(t *testing.T) {
	p := proxytest.New(t, answers(t))
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
		if _, err := io.WriteString(conn, "ping"); err != nil {
			return err
		}
		_, err := io.ReadFull(conn, make([]byte, len("ping")))
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
