package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// lockedBuffer is a log that can be read while it is written.
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

// What is still under way at the end of the shutdown timeout is cut off, and that is logged.
func TestShutdownCutsOff(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	o := testOptions(t, filepath.Join(t.TempDir(), "data"), &log)
	o.Settings.ShutdownTimeout = 20 * time.Millisecond
	n := must(Start(t.Context(), o))
	_, secret := newKey(t, n.Accounts())
	conn := must(net.Dial("tcp", n.apiSocket.Addr().String()))
	defer func() { _ = conn.Close() }()
	_ = must(io.WriteString(conn, "POST /v1/categories HTTP/1.1\r\nHost: pets\r\nAuthorization: Bearer "+secret.Reveal()+"\r\nContent-Length: 9\r\n\r\n{"))
	n.awaitMetric(t, "petcat_requests_in_flight", 1)
	if err := n.Shutdown(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
	if answer, _ := io.ReadAll(conn); len(answer) > 0 {
		t.Errorf("the request was answered: %s", answer)
	}
	if !strings.Contains(log.String(), "requests were cut off") {
		t.Errorf("the log is %s", &log)
	}
}

// TestSupervisor: systemd hears that the node is ready, that it does not hang, and that it
// stops.
func TestSupervisor(t *testing.T) {
	t.Parallel()
	address := filepath.Join(t.TempDir(), "notify")
	socket := must(net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"}))
	defer func() { _ = socket.Close() }()
	heard := make(chan string, 10_000)
	go func() {
		for text := make([]byte, 100); ; {
			length, err := socket.Read(text)
			if err != nil {
				return
			}
			heard <- string(text[:length])
		}
	}()
	hears := func(want string) {
		t.Helper()
		for expired := time.After(30 * time.Second); ; {
			select {
			case state := <-heard:
				if state == want {
					return
				}
			case <-expired:
				t.Fatalf("%s is not heard", want)
			}
		}
	}
	o := testOptions(t, filepath.Join(t.TempDir(), "data"), io.Discard)
	o.Environ = map[string]string{"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "30000"}
	n := must(Start(t.Context(), o))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- n.Run(ctx, nil) }()
	for _, state := range []string{"READY=1", "WATCHDOG=1", "WATCHDOG=1"} {
		hears(state)
	}
	stop()
	if err := errors.Join(<-ended, n.Shutdown(context.WithoutCancel(t.Context()))); err != nil {
		t.Error(err)
	}
	hears("STOPPING=1")
}
