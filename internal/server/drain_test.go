package server

import (
	"bytes"
	"context"
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
