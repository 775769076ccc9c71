package server

import (
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petcat-api/petcat/internal/logging"
)

// discard returns a log that is discarded.
func discard() *logging.Log { return logging.New(io.Discard, slog.LevelInfo, logging.Text) }

// oneConn is a listener with one connection.
type oneConn chan net.Conn

func (l oneConn) Accept() (net.Conn, error) {
	if c, open := <-l; open {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (l oneConn) Close() error   { return nil }
func (l oneConn) Addr() net.Addr { return &net.TCPAddr{} }

// TestTimeouts: idle connections are closed.
func TestTimeouts(t *testing.T) {
	for name, c := range map[string]struct {
		sent string
		want time.Duration
	}{
		"nothing":          {"", headerTimeout},
		"part of a header": {"GET / HT", headerTimeout},
		"part of a body":   {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n12", requestTimeout},
		"a whole request":  {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", idleTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newHTTPServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
				}), discard())
				client, conn := net.Pipe()
				conns := make(oneConn, 1)
				conns <- conn
				close(conns)
				begin := time.Now()
				_ = server.Serve(conns)
				go func() { _, _ = io.WriteString(client, c.sent) }()
				if _, err := io.Copy(io.Discard, client); err != nil {
					t.Error(err)
				}
				// net/http delays closing a connection while the client may still send.
				if took := time.Since(begin).Truncate(time.Second); took != c.want {
					t.Errorf("closed after %s, want %s", took, c.want)
				}
			})
		})
	}
}

// TestLinesOfTheLibrary: what net/http logs is in the log, in its format.
func TestLinesOfTheLibrary(t *testing.T) {
	var out lockedBuffer
	log := logging.New(&out, slog.LevelDebug, logging.JSON)
	s := httptest.NewUnstartedServer(nil)
	s.Config = newHTTPServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("a bug") }), log)
	s.StartTLS()
	res, err := s.Client().Get(s.URL)
	if err == nil {
		_ = res.Body.Close()
		t.Errorf("the response is %s", res.Status)
	}
	conn := must(net.Dial("tcp", s.Listener.Addr().String()))
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\n\r\n")
	_, _ = io.Copy(io.Discard, conn) // until the server closes the connection
	s.Close()
	_ = log.Close()
	for _, want := range []string{
		`"level":"ERROR","msg":"net/http reports","message":"http: panic serving 127.0.0.1:`,
		`: a bug\n`,
		`"level":"DEBUG","msg":"net/http reports","message":"http: TLS handshake error from 127.0.0.1:`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s is missing in %s", want, &out)
		}
	}
	if lines := strings.Count(out.String(), "\n"); lines != 2 {
		t.Errorf("%d lines: %s", lines, &out)
	}
}

// TestHTTP2FrameSize: the header of a too long frame closes the connection, because the frame would be
// buffered.
func TestHTTP2FrameSize(t *testing.T) {
	s := httptest.NewUnstartedServer(nil)
	s.Config, s.EnableHTTP2 = newHTTPServer(http.NotFoundHandler(), discard()), true
	s.StartTLS()
	defer s.Close()
	conn := must(tls.Dial("tcp", s.Listener.Addr().String(), &tls.Config{
		InsecureSkipVerify: true,
		NextProtos:         []string{"h2"},
	}))
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second)) // only a hang takes longer
	const settings = "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	const data = "\x00\x40\x01\x00\x00\x00\x00\x00\x01" // of 16 KiB and a byte
	if _, err := io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"+settings+data); err != nil {
		t.Fatal(err)
	}
	response := must(io.ReadAll(conn)) // until the server closes the connection
	const goAway = "\x00\x00\x08\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x06"
	if !strings.Contains(string(response), goAway) {
		t.Errorf("the response is %q, want a GOAWAY for the size of the frame", response)
	}
}

// TestHeaderLimit: a request with more than 100 headers and trailers is rejected without a body, and does
// not hold memory for them afterwards.
func TestHeaderLimit(t *testing.T) {
	nothing := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	h := newHTTPServer(nothing, discard()).Handler
	for _, c := range []struct{ names, values, trailers, want int }{
		{50, 2, 0, 200},
		{30, 3, 10, 200},
		{101, 1, 0, 431},
		{1, 101, 0, 431},
		{50, 1, 51, 431},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Trailer = http.Header{}
		for i := range c.names {
			r.Header[fmt.Sprint("N", i)] = make([]string, c.values)
		}
		for i := range c.trailers {
			r.Trailer[fmt.Sprint("T", i)] = nil
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		forgotten := r.Header == nil && r.Trailer == nil && w.Header().Get("Connection") == "close"
		if w.Code != c.want || forgotten != (w.Code == 431) || w.Body.Len() > 0 {
			t.Errorf("%+v: %d, %v, %d trailers remain", c, w.Code, w.Header(), len(r.Trailer))
		}
	}
}

func TestConnectionLimits(t *testing.T) {
	for _, c := range []struct {
		files, memory int64 // memory for as many connections
		api, admin    int
	}{
		{64, 1 << 32, 16, 16},
		{1_024, 1 << 32, 832, 128},
		{4_096, 1 << 32, 3_520, 512},
		{1 << 32, 1 << 32, 16_384, 1_024},
		{1 << 32, connectionsInMemory(512<<20, 64<<20), 491, 70}, // Helm's default
		{1 << 32, connectionsInMemory(128<<20, 64<<20), 16, 16},
	} {
		if api, admin := connectionLimits(c.files, c.memory); api != c.api || admin != c.admin {
			t.Errorf("%+v: %d and %d connections", c, api, admin)
		}
	}
}

// TestLimitedListener: a connection over the limit waits until another connection closes. Close does
// not wait. An Accept that fails frees its slot.
func TestLimitedListener(t *testing.T) {
	t.Parallel()
	l := newLimitedListener(must(listenOn(t.Context(), "listen", "127.0.0.1:0")), 1)
	_ = l.SetDeadline(time.Unix(1, 0))
	if c, err := l.Accept(); err == nil || len(l.slots) != 0 {
		t.Errorf("after the deadline, Accept returned %v, %v and kept %d slots", c, err, len(l.slots))
	}
	_ = l.SetDeadline(time.Time{})
	accepted := make(chan net.Conn)
	go func() {
		defer close(accepted)
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			accepted <- c
		}
	}()
	for range 3 {
		c := must(net.Dial("tcp", l.Addr().String()))
		t.Cleanup(func() { _ = c.Close() })
	}
	for range 2 {
		c := <-accepted
		if n := l.open.Load(); n != 1 {
			t.Errorf("%d connections are open", n)
		}
		for range 2 { // the second Close does not free a slot
			_ = c.Close()
		}
	}
	last := <-accepted
	_ = l.Close()
	if c, open := <-accepted; open {
		t.Errorf("%v was accepted after Close", c)
	}
	_ = last.Close()
}

// TestCipherSuites: TLS 1.2 lacks the CBC suites, whose MAC is SHA-1, and has the suites of browsers.
func TestCipherSuites(t *testing.T) {
	ids := (&certificate{}).config().CipherSuites
	for _, id := range ids {
		if name := tls.CipherSuiteName(id); strings.Contains(name, "CBC") || strings.HasSuffix(name, "_SHA") {
			t.Errorf("the listeners accept %s", name)
		}
	}
	if !slices.Contains(ids, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256) {
		t.Errorf("the listeners accept only %v", ids)
	}
}
