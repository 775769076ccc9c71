package e2e

import (
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// slowCreate is a create whose body is incomplete: the server waits for the rest.
type slowCreate struct {
	rest     *io.PipeWriter
	response chan *response // nil if it was cut off
}

// beginCreate starts a create, and returns when the server is reading the body.
func beginCreate(t *testing.T, n *node, secret, name string) *slowCreate {
	t.Helper()
	body, rest := io.Pipe()
	t.Cleanup(func() { _ = rest.Close() })
	reading := make(chan struct{})
	begun := &slowCreate{rest: rest, response: make(chan *response, 1)}
	// The server sends 100 when the handler reads the body.
	n.client.Transport.(*checked).base.ExpectContinueTimeout = patience
	trace := &httptrace.ClientTrace{Got100Continue: func() { close(reading) }}
	go func() {
		traced := func(r *http.Request) { *r = *r.WithContext(httptrace.WithClientTrace(r.Context(), trace)) }
		expect := header("Expect", "100-continue")
		a, err := try(n.client, http.MethodPost, n.api+"/v1/categories", body, by(secret), expect, traced)
		if err != nil {
			a = nil
		}
		begun.response <- a
	}()
	<-reading
	_, err := io.WriteString(rest, `{"name":"`+name)
	must(t, err)
	return begun
}

// finish sends the rest of the body.
func (b *slowCreate) finish(t *testing.T) *response {
	t.Helper()
	_, err := io.WriteString(b.rest, `"}`)
	must(t, err)
	must(t, b.rest.Close())
	return <-b.response
}

// TestDrain: a node that is stopped first becomes not ready, then finishes the requests in flight, and
// exits with 0.
func TestDrain(t *testing.T) {
	t.Parallel()
	place := directory(t)
	k := newKey(t, place, "acme", unlimited...)
	n := serve(t, place, "--shutdown-timeout", "10m")
	create := beginCreate(t, n, k.Key, "cat")
	n.signal(syscall.SIGTERM)
	eventually(t, "the node is not ready", func() bool {
		a := n.ask("/readyz")
		return a.StatusCode == http.StatusServiceUnavailable && strings.Contains(string(a.body), "draining")
	})
	n.ask("/livez").want(t, http.StatusOK)
	a := create.finish(t)
	if a == nil {
		t.Fatal("the request in flight was cut off")
	}
	a.want(t, http.StatusCreated)
	if code := n.wait(); code != exitDone {
		t.Errorf("exit code %d: %q", code, n.sentences())
	}
	n = serve(t, place)
	if diff := cmp.Diff([]category{{1, "cat", ""}}, n.categories(k.Key)); diff != "" {
		t.Errorf("after the restart (-want +got):\n%s", diff)
	}
}

// TestSecondSignal: a second signal stops the node without waiting for requests in flight.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	place := directory(t)
	k := newKey(t, place, "acme", unlimited...)
	n := serve(t, place, "--shutdown-timeout", "10m")
	create := beginCreate(t, n, k.Key, "cat")
	n.signal(syscall.SIGTERM)
	eventually(t, "the node is stopping", func() bool { return !n.ready() })
	n.signal(syscall.SIGINT)
	if code := n.wait(); code == exitDone {
		t.Error("the node exited with 0")
	}
	// The client's writer must finish before its reader.
	_ = create.rest.CloseWithError(io.ErrUnexpectedEOF)
	if a := <-create.response; a != nil {
		t.Errorf("the request in flight got %d", a.StatusCode)
	}
	n = serve(t, place)
	if got := n.categories(k.Key); len(got) != 0 {
		t.Errorf("after the restart: %v", got)
	}
}

// TestHangup: a node without a terminal continues after SIGHUP.
func TestHangup(t *testing.T) {
	t.Parallel()
	n := serve(t, directory(t))
	n.signal(syscall.SIGHUP)
	eventually(t, "the signal is in the log", func() bool {
		return strings.Contains(n.log.String(), "SIGHUP received")
	})
	n.stop()
}

// TestStopDuringStart: a node that is stopped while it waits for its database exits with 0.
func TestStopDuringStart(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // a database that never responds
	must(t, err)
	defer func() { _ = silent.Close() }()
	n := launch(t, "postgres://u@"+silent.Addr().String()+"/petcat")
	conn, err := silent.Accept()
	must(t, err)
	defer func() { _ = conn.Close() }()
	n.stop()
}
