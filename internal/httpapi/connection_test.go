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

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/catalog"
	"github.com/petcat-api/petcat/internal/clientnet"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/clocktest"
	"github.com/petcat-api/petcat/internal/httpapi"
	"github.com/petcat-api/petcat/internal/keyring"
	"github.com/petcat-api/petcat/internal/ratelimit"
)

// pipes is a listener for unbuffered connections. In a synctest bubble, transfers are instantaneous.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, open := <-p; open {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// goodKey is the only valid key.
const goodKey = "good"

// edge is a service with one key and no limits. It does not start goroutines, so only connections matter
// in these tests.
type edge struct {
	httpapi.Store
	*keyring.Keyring // nil

	catalog *catalog.Catalog
}

func (edge) Identify(credential string, _ clock.Reading) (*keyring.Caller, error) {
	if credential != goodKey {
		return nil, petcat.Errorf(petcat.CodeInvalidAPIKey, "wrong")
	}
	return &keyring.Caller{Key: 1, Account: 1}, nil
}

func (edge) Spend(context.Context, ratelimit.Charge) (ratelimit.Decision, error) {
	return ratelimit.Decision{Outcome: ratelimit.Allowed}, nil
}

func (e edge) Peek(ctx context.Context, c ratelimit.Charge) (ratelimit.Decision, error) {
	return e.Spend(ctx, c)
}

// dial connects to a server with a write timeout of 30 s.
func (e edge) dial(t *testing.T) net.Conn {
	t.Helper()
	now := clocktest.NewManual(noon)
	handler := httpapi.New(httpapi.Options{
		Catalog: e.catalog,
		Store:   e,
		Keyring: e,
		Limiter: e,
		Door:    ratelimit.NewDoor[clientnet.Net](now, 600, ratelimit.NewLookups(64)),
		Peeks:   ratelimit.NewBucket[petcat.AccountID](now, 60, ratelimit.AllAccounts),
		Clock:   now,
		Logger:  slog.New(slog.DiscardHandler),
		Observe: func(*httpapi.Record) {},
		Charged: func(petcat.AccountID, petcat.KeyID, petcat.OperationID, int64) {},
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
		<-ended                 // the error does not matter
		time.Sleep(time.Second) // net/http delays closing a connection while the client sends
	})
	return client
}

// slowly reads one MiB every 20 s.
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

// TestSlowReader: a slow client gets a long list completely, and a stalled client is cut off.
func TestSlowReader(t *testing.T) {
	const categories, description = 600, 10_000
	synctest.Test(t, func(t *testing.T) {
		e := edge{catalog: catalog.New("d")}
		for id := range categories {
			text := strings.Repeat("d", description)
			name := "dog"
			fresh, err := petcat.ParseNewCategory(&name, &text)
			must(t, err)
			category := fresh.WithID(petcat.CategoryID(id + 1))
			e.catalog.Apply([]petcat.RevisedCategory{{Category: category, Revision: petcat.Revision(id + 1)}})
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
		// A client that stops reading is cut off.
		_, _ = io.WriteString(conn, request)
		res, err = http.ReadResponse(bufio.NewReader(conn), nil)
		must(t, err)
		time.Sleep(time.Minute)
		if n, err := io.Copy(io.Discard, res.Body); err == nil {
			t.Errorf("%d more bytes after a minute without a read", n)
		}
	})
}

// TestReaderOfOldList: a slow client that keeps too many replaced blocks in memory is cut off.
func TestReaderOfOldList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := edge{catalog: catalog.New("d")}
		e.catalog.BoundReaders(1 << 20)
		var revision petcat.Revision
		save := func(id int) {
			name, text := "dog", strings.Repeat("d", 10_000)
			fresh, err := petcat.ParseNewCategory(&name, &text)
			must(t, err)
			revision++
			e.catalog.Apply([]petcat.RevisedCategory{{Category: fresh.WithID(petcat.CategoryID(id)), Revision: revision}})
		}
		for id := range 600 {
			save(id + 1)
		}
		conn := e.dial(t)
		_, _ = io.WriteString(conn, "GET /v1/categories HTTP/1.1\r\nHost: pets\r\nAuthorization: Bearer "+goodKey+"\r\n\r\n")
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		must(t, err)
		for id := 1; id <= 300; id += 20 { // about fifteen blocks of 128 KiB
			save(id)
		}
		if n, err := io.Copy(io.Discard, res.Body); err == nil || n > 1<<20 {
			t.Errorf("%d of %d bytes: %v", n, res.ContentLength, err)
		}
	})
}

// TestRejectedBody: a client that is still sending receives the error.
func TestRejectedBody(t *testing.T) {
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
				_, err := fmt.Fprintf(conn, "POST /v1/categories HTTP/1.1\r\nHost: pets\r\n"+
					"Authorization: Bearer %s\r\nContent-Length: %d\r\n\r\n", key, c.length)
				must(t, err)
				_, err = conn.Write(make([]byte, c.sends))
				must(t, err)
				res, err := http.ReadResponse(bufio.NewReader(conn), nil)
				must(t, err)
				if res.StatusCode != c.status || res.Close == c.stays {
					t.Errorf("%s, connection closes: %t", res.Status, res.Close)
				}
			})
		})
	}
}

// TestChunkedBodyClosesConnection: a request with Transfer-Encoding may also have had a
// Content-Length, so the connection must be closed.
func TestChunkedBodyClosesConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := edge{catalog: catalog.New("d")}.dial(t)
		_, _ = io.WriteString(conn, "POST /v1/categories HTTP/1.1\r\nHost: pets\r\n"+
			"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		must(t, err)
		if res.StatusCode != http.StatusUnauthorized || !res.Close {
			t.Errorf("%s, connection closes: %t", res.Status, res.Close)
		}
	})
}
