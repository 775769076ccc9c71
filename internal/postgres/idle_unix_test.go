//go:build unix

package postgres

import (
	"net"
	"syscall"
	"testing"
	"time"
)

// TestHeardDuringRead: after a slow write, the driver may read a connection in the background even while
// it is idle. heard does not wait for that read.
func TestHeardDuringRead(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	reading, stop := make(chan struct{}), make(chan struct{})
	defer close(stop)
	go func() {
		_ = raw.Read(func(uintptr) bool {
			close(reading)
			<-stop
			return true
		})
	}()
	<-reading
	result := make(chan bool)
	ask := func() bool {
		go func() { result <- heard(c) }()
		select {
		case got := <-result:
			return got
		case <-time.After(30 * time.Second):
			t.Fatal("heard waits for the read")
			return false
		}
	}
	if ask() {
		t.Error("heard something on an idle connection")
	}
	if _, err := server.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	for !ask() { // until the byte has arrived
		continue
	}
}
