package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// lockedBuffer is a buffer for concurrent use.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer // guarded by mu
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestShutdownTimeout: requests in flight are cut off at the shutdown timeout, which is logged.
func TestShutdownTimeout(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	o := testOptions(t, filepath.Join(t.TempDir(), "data"), &log)
	o.Settings.ShutdownTimeout = 20 * time.Millisecond
	n := must(Start(t.Context(), o))
	_, secret := newKey(t, n.Store())
	conn := must(net.Dial("tcp", n.sockets.api.Addr().String()))
	defer func() { _ = conn.Close() }()
	_ = must(io.WriteString(conn, "POST /v1/categories HTTP/1.1\r\n"+
		"Host: pets\r\n"+
		"Authorization: Bearer "+secret.Reveal()+"\r\n"+
		"Content-Length: 9\r\n\r\n{"))
	n.awaitMetric(t, "petcat_requests_in_flight", 1)
	if err := n.Shutdown(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
	if response, _ := io.ReadAll(conn); len(response) > 0 {
		t.Errorf("the request got a response: %s", response)
	}
	if !strings.Contains(log.String(), "requests cut off at --shutdown-timeout") {
		t.Errorf("log: %s", &log)
	}
}

// TestShutdownOfOperators: an operator's request in flight gets its response before the data is closed.
func TestShutdownOfOperators(t *testing.T) {
	t.Parallel()
	n := must(Start(t.Context(), testOptions(t, filepath.Join(t.TempDir(), "data"), io.Discard)))
	conn := must(net.Dial("tcp", n.sockets.admin.Addr().String()))
	defer func() { _ = conn.Close() }()
	form := "token=" + strings.Repeat("a", 32)
	_ = must(io.WriteString(conn, "POST /console/sign-in HTTP/1.1\r\n"+
		"Host: localhost\r\n"+
		"Content-Type: application/x-www-form-urlencoded\r\n"+
		"Expect: 100-continue\r\n"+
		fmt.Sprintf("Content-Length: %d\r\n\r\n", len(form))))
	responses := bufio.NewReader(conn)
	if line := must(responses.ReadString('\n')); !strings.Contains(line, "100 Continue") { // the handler reads the form
		t.Fatal(line)
	}
	ended := make(chan error, 1)
	go func() { ended <- n.Shutdown(context.WithoutCancel(t.Context())) }()
	<-n.sockets.admin.closed
	_ = must(io.WriteString(conn, form))
	response := string(must(io.ReadAll(responses)))
	if !strings.Contains(response, "403 Forbidden") || !strings.Contains(response, "already used") {
		t.Error(response)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestSupervisor: the node notifies systemd when it is ready, that it runs, and when it stops.
func TestSupervisor(t *testing.T) {
	t.Parallel()
	dir := must(os.MkdirTemp("/tmp", "petcat")) //nolint:usetesting // the path of a Unix socket is limited to 107 bytes
	defer func() { _ = os.RemoveAll(dir) }()
	address := filepath.Join(dir, "notify")
	socket := must(net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"}))
	defer func() { _ = socket.Close() }()
	receives := func(want string) {
		t.Helper()
		state := make([]byte, 100)
		if err := socket.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
			t.Fatal(err)
		}
		for length := 0; string(state[:length]) != want; { // after others: the watchdog's are periodic
			length = must(socket.Read(state))
		}
	}
	o := testOptions(t, filepath.Join(t.TempDir(), "data"), io.Discard)
	o.Environ = map[string]string{"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "300000"}
	n := must(Start(t.Context(), o))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(n.Run(ctx, nil), n.Shutdown(context.WithoutCancel(t.Context()))) }()
	receives("READY=1")
	receives("WATCHDOG=1")
	receives("WATCHDOG=1")
	stop()
	receives("STOPPING=1") // during the shutdown: a full socket drops messages
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
