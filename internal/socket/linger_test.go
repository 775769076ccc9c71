package socket_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"petcat/internal/socket"
	"petcat/internal/stalltest"
)

// refusing is a server that answers 401 without reading a body.
func refusing(t *testing.T, linger time.Duration, secure bool) (l *socket.Listener, dial func() net.Conn) {
	t.Helper()
	l = socket.New(listen(t), socket.Timeouts{})
	l.Linger(linger)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, "no")
	}))
	server.Listener = l
	dialNow := func() (net.Conn, error) { return net.Dial("tcp", l.Addr().String()) }
	if secure {
		server.StartTLS()
		dialNow = func() (net.Conn, error) {
			return tls.Dial("tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true})
		}
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return l, func() net.Conn {
		c, err := dialNow()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_ = c.SetDeadline(time.Now().Add(20 * time.Second))
		return c
	}
}

// sendAll sends a whole request before it reads, as Python's http.client does.
func sendAll(c net.Conn, head string, size int) error {
	if _, err := fmt.Fprintf(c, "%s\r\nHost: x\r\nContent-Length: %d\r\n\r\n", head, size); err != nil {
		return err
	}
	_, err := io.Copy(c, io.LimitReader(zeros{}, int64(size)))
	return err
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// Whoever sends all of a large body before it reads gets its answer.
func TestAnswersReachWhoIsStillSending(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		_, dial := refusing(t, 10*time.Second, secure)
		for _, head := range []string{
			"POST / HTTP/1.0", "POST / HTTP/1.0\r\nConnection: keep-alive", "POST / HTTP/1.1", "POST / HTTP/1.1\r\nConnection: close",
		} {
			for _, size := range []int{1_100_000, 5_000_000, 50_000_000} {
				t.Run(fmt.Sprintf("%q %d, TLS %v", head, size, secure), func(t *testing.T) {
					t.Parallel()
					c := dial()
					if err := sendAll(c, head, size); err != nil {
						t.Fatal(err)
					}
					res, err := http.ReadResponse(bufio.NewReader(c), nil)
					if err != nil {
						t.Fatal(err)
					}
					text, err := io.ReadAll(res.Body)
					_ = res.Body.Close()
					if err != nil || res.StatusCode != http.StatusUnauthorized || string(text) != "no" {
						t.Errorf("%s %q, %v", res.Status, text, err)
					}
				})
			}
		}
	}
}

// What net/http itself answers arrives, too.
func TestAnswersOfTheHTTPServerArrive(t *testing.T) {
	t.Parallel()
	_, dial := refusing(t, 10*time.Second, false)
	for want, head := range map[string]string{
		"400": "POST / HTTP/1.1\r\nA B: c", "431": "POST / HTTP/1.1\r\nA: " + strings.Repeat("b", 2<<20),
		"501": "POST / HTTP/1.1\r\nTransfer-Encoding: gzip", "505": "POST / HTTP/3.0",
	} {
		c := dial()
		if err := sendAll(c, head, 5_000_000); err != nil {
			t.Errorf("%s: %v", want, err)
			continue
		}
		text, err := io.ReadAll(c)
		if err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 "+want) {
			t.Errorf("%q, %v, want %s", text, err, want)
		}
	}
}

// A client that goes on and on, or is silent, is let go.
func TestLingeringEnds(t *testing.T) {
	t.Parallel()
	const request = "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 1000000000\r\n\r\n"
	// ended returns after how long, and how many bytes, sending fails.
	ended := func(t *testing.T, c net.Conn, piece int, pause time.Duration) (time.Duration, int) {
		t.Helper()
		begin, sent, data := time.Now(), 0, make([]byte, piece)
		_, _ = io.WriteString(c, request)
		for {
			n, err := c.Write(data)
			sent += n
			if err != nil {
				return time.Since(begin), sent
			}
			<-time.After(pause)
		}
	}
	t.Run("after a time", func(t *testing.T) {
		t.Parallel()
		_, dial := refusing(t, time.Second, false)
		stalltest.Start(t).InTime("the end", time.Second+2*socket.Tick+moment, func() time.Duration {
			took, _ := ended(t, dial(), 1, 20*time.Millisecond)
			if took < time.Second {
				t.Errorf("after %v", took)
			}
			return took
		})
	})
	t.Run("after a number of bytes", func(t *testing.T) {
		t.Parallel()
		_, dial := refusing(t, time.Minute, false)
		if _, sent := ended(t, dial(), 1<<20, 0); sent < 60<<20 || sent > 100<<20 {
			t.Errorf("after %d bytes", sent)
		}
	})
	t.Run("after a silence", func(t *testing.T) {
		t.Parallel()
		l, dial := refusing(t, time.Minute, false)
		stalltest.Start(t).InTime("a silent client is let go", 2*time.Second+2*socket.Tick+moment, func() time.Duration {
			c := dial()
			begin := time.Now()
			_, _ = io.WriteString(c, request)
			_, _ = io.Copy(io.Discard, c) // the client is told at once, and stays
			if took := time.Since(begin); took > time.Second {
				t.Errorf("the client was told after %v", took)
			}
			l.Settle(t.Context())
			if took := time.Since(begin); took < 2*time.Second {
				t.Errorf("it was let go after %v", took)
			}
			return time.Since(begin)
		})
	})
	t.Run("when there is no more time", func(t *testing.T) {
		t.Parallel()
		l, dial := refusing(t, time.Minute, false)
		c := dial()
		_, _ = io.WriteString(c, request)
		_, _ = io.Copy(io.Discard, c)
		stalltest.Start(t).InTime("the wait", time.Second, func() time.Duration {
			begin := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			l.Settle(ctx)
			return time.Since(begin)
		})
	})
	t.Run("before it begins when no request came in time", func(t *testing.T) {
		t.Parallel()
		l := socket.New(listen(t), socket.Timeouts{})
		l.Linger(time.Minute)
		server := httptest.NewUnstartedServer(http.NotFoundHandler())
		server.Listener = l
		server.Config.ReadHeaderTimeout = 200 * time.Millisecond
		server.StartTLS()
		t.Cleanup(server.Close)
		stalltest.Start(t).InTime("it is closed", time.Second, func() time.Duration {
			c, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			begin := time.Now()
			for ; l.Stats().Open > 0; <-time.After(10 * time.Millisecond) {
				if took := time.Since(begin); took > 10*time.Second {
					t.Fatalf("it is open after %v", took)
				}
			}
			return time.Since(begin)
		})
	})
	t.Run("at once when the client closes", func(t *testing.T) {
		t.Parallel()
		l, dial := refusing(t, time.Minute, false)
		stalltest.Start(t).InTime("the end", time.Second, func() time.Duration {
			c := dial()
			_, _ = io.WriteString(c, request)
			_, _ = io.Copy(io.Discard, c)
			begin := time.Now()
			_ = c.Close()
			l.Settle(t.Context())
			return time.Since(begin)
		})
	})
}

// The wrapper has only what the connection below it has.
func TestCloseWriteNeedsAConnectionThatHasIt(t *testing.T) {
	t.Parallel()
	one, other := net.Pipe()
	defer other.Close()
	l := socket.New(&single{conn: one}, socket.Timeouts{})
	l.Linger(time.Minute)
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = other.Read(make([]byte, 1)) }()
	_, _ = c.Write([]byte("x"))
	if err := c.(interface{ CloseWrite() error }).CloseWrite(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("CloseWrite: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := one.Write(nil); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("the connection below is open: %v", err)
	}
}

// single is a listener that accepts one connection.
type single struct {
	net.Listener
	conn net.Conn
}

func (s *single) Accept() (net.Conn, error) { return s.conn, nil }
