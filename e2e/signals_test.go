package e2e

import (
	"net"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestHangupWithoutATerminalIsNoEnd(t *testing.T) {
	s := serve(t, t.TempDir())
	s.signal(syscall.SIGHUP)
	eventually(t, 30*time.Second, "the signal is in the log", func() bool { return strings.Contains(s.log.String(), "SIGHUP received") })
	s.mustStop()
}

func TestStopDuringTheStartIsNoFailure(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // a database that never answers
	must(t, err)
	defer silent.Close()
	s := launchProcess(t, "postgres://u@"+silent.Addr().String()+"/petcat", serveFlags("serve", "postgres://u@"+silent.Addr().String()+"/petcat", nil)...)
	conn, err := silent.Accept()
	must(t, err)
	defer conn.Close()
	s.signal(syscall.SIGTERM)
	if code := s.wait(30 * time.Second); code != exitDone {
		t.Errorf("it ended with %d: %s", code, s.log)
	}
}
