package socket_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"petcat/internal/socket"
	"petcat/internal/stalltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pair returns both ends of a connection; the server's is the one under test.
func pair(t *testing.T) (server, client net.Conn) {
	t.Helper()
	l := socket.New(listen(t), socket.Timeouts{})
	accepted := make(chan net.Conn, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			t.Error(err)
		}
		accepted <- c
	}()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server = <-accepted
	t.Cleanup(func() { _ = server.Close(); _ = client.Close() })
	return server, client
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := socket.Config(time.Minute).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func wantTimeout(t *testing.T, err error) {
	t.Helper()
	if ne, ok := errors.AsType[net.Error](err); !ok || !ne.Timeout() || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("error %v, want a timeout", err)
	}
}

// moment is what it takes to do what a tick begins.
const moment = 50 * time.Millisecond

func TestDeadlines(t *testing.T) {
	server, client := pair(t)
	buf := make([]byte, 16)

	t.Run("one that comes ends a read, not early, and at most a tick late", func(t *testing.T) {
		stalltest.Start(t).InTime("a read", 100*time.Millisecond+socket.Tick+moment, func() (took time.Duration) {
			begin := time.Now()
			_ = server.SetReadDeadline(begin.Add(100 * time.Millisecond))
			_, err := server.Read(buf)
			wantTimeout(t, err)
			if took = time.Since(begin); took < 100*time.Millisecond {
				t.Errorf("after %v", took)
			}
			return took
		})
	})
	t.Run("a new one makes the connection good again", func(t *testing.T) {
		_ = server.SetReadDeadline(time.Now().Add(time.Minute))
		_, _ = io.WriteString(client, "hello")
		if n, err := server.Read(buf); err != nil || string(buf[:n]) != "hello" {
			t.Errorf("read %q, %v", buf[:n], err)
		}
	})
	t.Run("one in the past ends a read at once", func(t *testing.T) {
		_ = server.SetReadDeadline(time.Time{})
		failed := make(chan error)
		go func() {
			_, err := server.Read(buf)
			failed <- err
		}()
		_ = server.SetReadDeadline(time.Unix(1, 0))
		wantTimeout(t, <-failed)
		_ = server.SetReadDeadline(time.Time{})
	})
	t.Run("one that was moved in time does not fire", func(t *testing.T) {
		_ = server.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		_ = server.SetReadDeadline(time.Time{})
		go func() {
			<-time.After(3 * socket.Tick)
			_, _ = io.WriteString(client, "late")
		}()
		if n, err := server.Read(buf); err != nil || string(buf[:n]) != "late" {
			t.Errorf("read %q, %v", buf[:n], err)
		}
	})
	t.Run("writes have their own", func(t *testing.T) {
		_ = server.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
		_, err := server.Write(make([]byte, 64<<20)) // nobody reads
		wantTimeout(t, err)
	})
}

// A read of one byte is passed over once; whoever asks again gets it.
func TestReadOfOneByte(t *testing.T) {
	server, client := pair(t)
	_, _ = io.WriteString(client, "ab")
	one := make([]byte, 1)
	for i, want := range []string{"", "a", "", "b"} {
		n, err := server.Read(one)
		if err != nil || string(one[:n]) != want {
			t.Errorf("read %d: %q, %v, want %q", i, one[:n], err, want)
		}
	}
}

// net/http behaves over these connections as it does over others, whoever keeps
// the timeouts.
func TestHTTP(t *testing.T) {
	const short = 300 * time.Millisecond
	t.Run("timeouts of net/http", func(t *testing.T) {
		testHTTP(t, socket.New(listen(t), socket.Timeouts{}), &http.Server{
			ReadHeaderTimeout: short, IdleTimeout: short, WriteTimeout: time.Minute,
		})
	})
	t.Run("timeouts of the listener", func(t *testing.T) {
		l := socket.New(listen(t), socket.Timeouts{Header: short, Body: short, Write: time.Minute, Idle: short})
		testHTTP(t, l, &http.Server{ConnState: note(l)})
	})
}

func testHTTP(t *testing.T, l *socket.Listener, server *http.Server) {
	t.Helper()
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%s %s %d", r.URL.Path, body, len(r.Header.Get("X-Long")))
	})
	var done sync.WaitGroup
	done.Go(func() { _ = server.Serve(l) })
	t.Cleanup(func() {
		_ = server.Shutdown(context.WithoutCancel(t.Context()))
		done.Wait()
	})
	dial := func(t *testing.T) (net.Conn, *bufio.Reader) {
		t.Helper()
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c, bufio.NewReader(c)
	}
	want := func(t *testing.T, r *bufio.Reader, body string) {
		t.Helper()
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || string(got) != body {
			t.Fatalf("body %q, %v, want %q", got, err, body)
		}
	}

	t.Run("keep-alive and pipelined requests", func(t *testing.T) {
		c, r := dial(t)
		for range 3 {
			_, _ = io.WriteString(c, "GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
			want(t, r, "/a  0")
		}
		_, _ = io.WriteString(c, strings.Repeat("POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi", 20))
		for range 20 {
			want(t, r, "/p hi 0")
		}
	})
	t.Run("a request in pieces of every size, over a header that fills the buffers", func(t *testing.T) {
		for _, long := range []int{1, 4040, 4060, 4095, 8191, 12_000} {
			request := fmt.Sprintf("GET /l HTTP/1.1\r\nHost: x\r\nX-Long: %s\r\n\r\n", strings.Repeat("y", long))
			for _, cut := range []int{1, 4095, 4096, 4097} {
				c, r := dial(t)
				cut = min(cut, len(request))
				_, _ = io.WriteString(c, request[:cut])
				<-time.After(2 * time.Millisecond) // so that the pieces arrive apart
				_, _ = io.WriteString(c, request[cut:])
				want(t, r, fmt.Sprintf("/l  %d", long))
			}
		}
	})
	t.Run("slow headers and idle connections are cut", func(t *testing.T) {
		for _, sent := range []string{"GET / HT", "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"} {
			c, r := dial(t)
			_, _ = io.WriteString(c, sent)
			if strings.HasSuffix(sent, "\r\n\r\n") {
				want(t, r, "/a  0")
			}
			_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
			if _, err := io.ReadAll(r); err != nil {
				t.Errorf("after %q the connection stays open: %v", sent, err)
			}
		}
	})
}

// note tells a listener what net/http knows.
func note(l *socket.Listener) func(net.Conn, http.ConnState) {
	return func(c net.Conn, state http.ConnState) {
		switch state {
		case http.StateActive:
			l.Active(c)
		case http.StateIdle:
			l.Idle(c)
		default:
		}
	}
}

// phases is a server whose listener keeps the timeouts: one of them is short.
func phases(t *testing.T, timeouts socket.Timeouts, handler http.HandlerFunc) (dial func() net.Conn) {
	t.Helper()
	l := socket.New(listen(t), timeouts)
	server := &http.Server{Handler: handler, ConnState: note(l)}
	var done sync.WaitGroup
	done.Go(func() { _ = server.Serve(l) })
	t.Cleanup(func() {
		_ = server.Close()
		done.Wait()
	})
	return func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_ = c.SetDeadline(time.Now().Add(30 * time.Second))
		return c
	}
}

// Each phase of a connection ends by its own timeout, not early, and at most one
// tick late; a connection that has moved on is measured anew.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	const (
		short    = 2 * socket.Tick
		long     = time.Minute
		whole    = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
		bodyless = "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n12"
	)
	echo := func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil {
			w.WriteHeader(http.StatusRequestTimeout)
		}
	}
	// ended returns how long the connection stays open after what was sent.
	ended := func(t *testing.T, c net.Conn, texts ...string) time.Duration {
		t.Helper()
		r := bufio.NewReader(c)
		for _, text := range texts {
			_, _ = io.WriteString(c, text)
			if text == whole {
				res, err := http.ReadResponse(r, nil)
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
			}
		}
		begin := time.Now()
		if _, err := io.Copy(io.Discard, r); err != nil {
			t.Fatalf("after %v: %v", time.Since(begin), err)
		}
		return time.Since(begin)
	}
	for _, c := range []struct {
		name     string
		timeouts socket.Timeouts
		texts    []string
	}{
		{"header, of a new connection", socket.Timeouts{Header: short, Body: long, Write: long, Idle: long}, nil},
		{"header, begun", socket.Timeouts{Header: short, Body: long, Write: long, Idle: long}, []string{"GET /"}},
		{"header, of a second request", socket.Timeouts{Header: short, Body: long, Write: long, Idle: long}, []string{whole, "G"}},
		{"body", socket.Timeouts{Header: long, Body: short, Write: long, Idle: long}, []string{bodyless}},
		{"body, of a second request", socket.Timeouts{Header: long, Body: short, Write: long, Idle: long}, []string{whole, bodyless}},
		{"idle", socket.Timeouts{Header: long, Body: long, Write: long, Idle: short}, []string{whole, whole}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			// net/http waits half a second before it closes on an answer to a request
			// that it did not read.
			closing := time.Duration(0)
			if c.timeouts.Body == short {
				closing = 500 * time.Millisecond
			}
			stalltest.Start(t).InTime("the end", short+socket.Tick+closing+moment, func() time.Duration {
				took := ended(t, phases(t, c.timeouts, echo)(), c.texts...)
				if took < short-20*time.Millisecond {
					t.Errorf("it ended after %v, want about %v", took, short)
				}
				return took
			})
		})
	}

	// The ticks that follow one another differ by how late the system wakes a goroutine.
	t.Run("on a clock that has ticked", func(t *testing.T) {
		t.Parallel()
		dial := phases(t, socket.Timeouts{Header: short, Body: long, Write: long, Idle: long}, echo)
		keep := dial()
		<-time.After(short)
		control := stalltest.Start(t)
		for range 10 {
			_, _ = io.WriteString(keep, whole) // so that the clock goes on
			control.InTime("the end", short+socket.Tick+moment, func() time.Duration { return ended(t, dial()) })
			<-time.After(socket.Tick / 10)
		}
	})

	t.Run("write", func(t *testing.T) {
		t.Parallel()
		failed := make(chan error, 1)
		dial := phases(t, socket.Timeouts{Header: long, Body: long, Write: short, Idle: long}, func(w http.ResponseWriter, _ *http.Request) {
			_, err := w.Write(make([]byte, 64<<20)) // nobody reads
			failed <- err
		})
		_, _ = io.WriteString(dial(), whole)
		wantTimeout(t, <-failed)
	})
	t.Run("write, with more time for a long answer", func(t *testing.T) {
		t.Parallel()
		dial := phases(t, socket.Timeouts{Header: long, Body: long, Write: short, Idle: long}, func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(long))
			_, _ = w.Write(make([]byte, 64<<20))
		})
		c := dial()
		_, _ = io.WriteString(c, whole)
		<-time.After(short + 3*socket.Tick)
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		if err != nil || n != 64<<20 {
			t.Errorf("%d bytes, %v", n, err)
		}
	})
	t.Run("a handler that takes longer than the body may does not cost the connection", func(t *testing.T) {
		t.Parallel()
		dial := phases(t, socket.Timeouts{Header: short, Body: short, Write: long, Idle: long}, func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/a" {
				<-time.After(short + 3*socket.Tick)
			}
		})
		c := dial()
		r := bufio.NewReader(c)
		for _, path := range []string{"/a", "/b", "/a", "/b"} {
			_, _ = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
			res, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			_ = res.Body.Close()
		}
	})
}
