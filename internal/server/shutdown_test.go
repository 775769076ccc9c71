package server

import (
	"bytes"
	"context"
	"io"
	"net/http"
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
	began := make(chan struct{})
	n.handler.set(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
	}))
	answered := make(chan error)
	go func() {
		res, err := http.Get(n.PublicURL())
		if err == nil {
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
		}
		answered <- err
	}()
	<-began
	if err := n.Shutdown(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
	if err := <-answered; err == nil {
		t.Error("the request was answered")
	}
	if !strings.Contains(log.String(), "requests were cut off") {
		t.Errorf("the log is %s", &log)
	}
}
