package socket_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"petcat/internal/socket"
)

// serve starts a server whose listener keeps the timeouts.
func serve(t *testing.T, timeouts socket.Timeouts, handler http.HandlerFunc) (l *socket.Listener, dial func() net.Conn) {
	t.Helper()
	below, err := socket.Config(time.Minute).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l = socket.New(below, timeouts)
	l.Linger(10 * time.Second)
	server := &http.Server{Handler: handler, ConnState: func(c net.Conn, state http.ConnState) {
		switch state {
		case http.StateActive:
			l.Active(c)
		case http.StateIdle:
			l.Idle(c)
		default:
		}
	}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(l)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-ended
	})
	return l, func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_ = c.SetDeadline(time.Now().Add(30 * time.Second))
		return c
	}
}

func TestConnectionsThatSendNothingMoreAreClosed(t *testing.T) {
	const short, long = 300 * time.Millisecond, time.Hour
	_, dial := serve(t, socket.Timeouts{Header: short, Body: short, Write: long, Idle: short}, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	})
	for name, sent := range map[string]string{
		"nothing": "", "part of a header": "GET / HT", "part of a body": "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n12",
		"a whole request": "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		c := dial()
		_, _ = io.WriteString(c, sent)
		if _, err := io.Copy(io.Discard, c); err != nil {
			t.Errorf("after %s the connection stays open: %v", name, err)
		}
	}
}

func TestAnswerReachesAClientThatSendsItsWholeBodyFirst(t *testing.T) {
	_, dial := serve(t, socket.Timeouts{}, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	const size = 5_000_000
	c := dial()
	if _, err := fmt.Fprintf(c, "POST / HTTP/1.0\r\nContent-Length: %d\r\n\r\n", size); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	if res, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || res.StatusCode != http.StatusUnauthorized {
		t.Errorf("%v, %v", res, err)
	}
}

func TestStopReadsLetsAnAnswerGoOut(t *testing.T) {
	reading := make(chan struct{})
	l, dial := serve(t, socket.Timeouts{Body: time.Hour}, func(w http.ResponseWriter, r *http.Request) {
		close(reading)
		if _, err := io.ReadAll(r.Body); errors.Is(err, os.ErrDeadlineExceeded) {
			w.WriteHeader(http.StatusRequestTimeout)
		}
	})
	c := dial()
	_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n123")
	<-reading
	l.StopReads()
	if res, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || res.StatusCode != http.StatusRequestTimeout {
		t.Errorf("%v, %v", res, err)
	}
}
