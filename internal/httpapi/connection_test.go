package httpapi_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"petcat"
	"petcat/internal/catalog"
	"petcat/internal/clientnet"
	"petcat/internal/clock"
	"petcat/internal/clocktest"
	"petcat/internal/httpapi"
	"petcat/internal/keyring"
	"petcat/internal/ratelimit"
)

// pipes is a listener whose connections have no buffers. In a synctest bubble, no time
// passes while bytes move.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, open := <-p; open {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// goodKey is the only key of an edge.
const goodKey = "good"

// edge is a service that knows one key, without limits, and needs no goroutine: nothing but
// connections takes part in the tests of this file.
type edge struct {
	httpapi.Store

	catalog *catalog.Catalog
}

func (edge) Identify(_ context.Context, credential string, _ clock.Reading) (*keyring.Caller, error) {
	if credential != goodKey {
		return nil, petcat.Errorf(petcat.CodeInvalidAPIKey, "wrong")
	}
	return &keyring.Caller{Key: 1, Account: 1}, nil
}

func (edge) Spend(context.Context, ratelimit.Charge) (ratelimit.Decision, error) {
	return ratelimit.Decision{Verdict: ratelimit.Admitted}, nil
}

func (e edge) Peek(ctx context.Context, c ratelimit.Charge) (ratelimit.Decision, error) {
	return e.Spend(ctx, c)
}

// dial connects to a server whose responses must be written in 30 s.
func (e edge) dial(t *testing.T) net.Conn {
	t.Helper()
	now := clocktest.NewManual(noon)
	handler := httpapi.New(httpapi.Options{
		Catalog: e.catalog, Store: e, Keyring: e, Limiter: e,
		Failures: ratelimit.NewBucket[clientnet.Net](now, 600), Peeks: ratelimit.NewBucket[petcat.AccountID](now, 60),
		Clock: now, Logger: slog.New(slog.DiscardHandler),
		Observe: func(*httpapi.Record) {}, Admitted: func(petcat.AccountID, int64) {},
	})
	conns := make(pipes, 1)
	server := &http.Server{Handler: handler, WriteTimeout: 30 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(conns)
	}()
	client, conn := net.Pipe()
	conns <- conn
	t.Cleanup(func() {
		_ = client.Close()
		close(conns)
		<-ended                 // http.ErrServerClosed or that the listener is closed
		time.Sleep(time.Second) // net/http delays the end of a connection whose client still sends
	})
	return client
}

// slowly reads a MiB every 20 s.
type slowly struct {
	io.Reader

	left int
}

func (r *slowly) Read(p []byte) (int, error) {
	if r.left == 0 {
		time.Sleep(20 * time.Second)
		r.left = 1 << 20
	}
	n, err := r.Reader.Read(p[:min(len(p), r.left)])
	r.left -= n
	return n, err
}

// A long list must be read at a pace, but not in the time of one response.
func TestSlowReader(t *testing.T) {
	const categories, description = 600, 10_000
	synctest.Test(t, func(t *testing.T) {
		e := edge{catalog: catalog.New("d")}
		for id := range categories {
			text := strings.Repeat("d", description)
			name := "dog"
			fresh, err := petcat.ParseNewCategory(&name, &text)
			must(t, err)
			e.catalog.Apply([]petcat.RevisedCategory{{Category: fresh.WithID(petcat.CategoryID(id + 1)), Revision: petcat.Revision(id + 1)}})
		}
		request := "GET /v1/categories HTTP/1.1\r\nHost: pets\r\nAuthorization: Bearer " + goodKey + "\r\n\r\n"
		conn := e.dial(t)
		_, _ = io.WriteString(conn, request)
		res, err := http.ReadResponse(bufio.NewReader(&slowly{conn, 1 << 20}), nil)
		must(t, err)
		body, err := io.ReadAll(res.Body)
		if err != nil || len(body) < categories*description || int64(len(body)) != res.ContentLength {
			t.Errorf("%d bytes of %d: %v", len(body), res.ContentLength, err)
		}
		// Who stops reading gets no more of it.
		_, _ = io.WriteString(conn, request)
		res, err = http.ReadResponse(bufio.NewReader(conn), nil)
		must(t, err)
		time.Sleep(time.Minute)
		if n, err := io.Copy(io.Discard, res.Body); err == nil {
			t.Errorf("after a minute without a read, there are %d bytes more", n)
		}
	})
}

// A client that is still sending gets its refusal.
func TestRefusedBody(t *testing.T) {
	for _, c := range []struct {
		name          string
		key           bool
		length, sends int // of the body
		status        int
		stays         bool // the connection can be used again
	}{
		{"no key", false, 5 << 20, 5 << 20, 401, true},
		{"too large", true, 5 << 20, 5 << 20, 413, true},
		{"far too large", true, 9 << 20, 8 << 20, 413, false},
		{"the end never comes", false, 5 << 20, 1 << 20, 401, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn := edge{catalog: catalog.New("d")}.dial(t)
				key := ""
				if c.key {
					key = goodKey
				}
				_, err := fmt.Fprintf(conn, "POST /v1/categories HTTP/1.1\r\nHost: pets\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n", key, c.length)
				must(t, err)
				_, err = conn.Write(make([]byte, c.sends))
				must(t, err)
				res, err := http.ReadResponse(bufio.NewReader(conn), nil)
				must(t, err)
				if res.StatusCode != c.status || res.Close == c.stays {
					t.Errorf("%s, and the connection closes: %t", res.Status, res.Close)
				}
			})
		})
	}
}

// Whether a request with Transfer-Encoding had a Content-Length, too, nobody can see; then
// the connection must be closed.
func TestChunkedBodyEndsTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := edge{catalog: catalog.New("d")}.dial(t)
		_, _ = io.WriteString(conn, "POST /v1/categories HTTP/1.1\r\nHost: pets\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		must(t, err)
		if res.StatusCode != http.StatusUnauthorized || !res.Close {
			t.Errorf("%s, and the connection closes: %t", res.Status, res.Close)
		}
	})
}
