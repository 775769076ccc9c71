package socket_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"petcat/internal/socket"
)

// Who asks for many answers at once and takes none is let go in time, although the
// system's buffers take them all and the connection seems idle. Who takes a
// little now and then is not.
func TestStall(t *testing.T) {
	t.Parallel()
	const stall, answer = time.Second, 50_000
	below, err := socket.Config(stall).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := socket.New(below, socket.Timeouts{Header: time.Minute, Body: time.Minute, Write: time.Minute, Idle: time.Minute})
	l.Linger(time.Minute)
	body := strings.Repeat("x", answer)
	server := &http.Server{ConnState: note(l), Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })}
	var done sync.WaitGroup
	done.Go(func() { _ = server.Serve(l) })
	t.Cleanup(func() { _ = server.Close(); done.Wait() })

	ask := func(requests int) net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_ = c.(*net.TCPConn).SetReadBuffer(4096)
		if _, err := io.WriteString(c, strings.Repeat("GET / HTTP/1.1\r\nHost: pets\r\n\r\n", requests)); err != nil {
			t.Fatal(err)
		}
		return c
	}
	slow := ask(16)
	_ = ask(2)
	_ = ask(100)
	begin := time.Now()
	for l.Stats().Open > 1 || time.Since(begin) < 2*stall {
		if time.Since(begin) > 4*stall {
			t.Fatalf("%d are open after %s", l.Stats().Open, time.Since(begin))
		}
		time.Sleep(stall / 4)
		if _, err := io.CopyN(io.Discard, slow, 20_000); err != nil {
			t.Fatalf("who takes a little is let go after %s: %v", time.Since(begin), err)
		}
	}
	if open := l.Stats().Open; open != 1 {
		t.Errorf("%d are open, want the slow one", open)
	}
}

// What the system keeps for who does not read is bounded.
func TestUnsentBytes(t *testing.T) {
	t.Parallel()
	l, err := socket.Config(time.Minute).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	small := func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096) })
	}
	d := net.Dialer{Control: small}
	client, err := d.DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	_ = server.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
	if n, err := server.Write(make([]byte, 8<<20)); err == nil || n > 1<<20 {
		t.Errorf("%d bytes were taken: %v", n, err)
	}
}
