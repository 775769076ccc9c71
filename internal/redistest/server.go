package redistest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"petcat/internal/tooltest"
)

// timeout is how long a server may take to come up on a busy machine.
const timeout = 15 * time.Second

// Server is a running server.
type Server struct {
	tb   testing.TB
	port int
	args []string
	log  string
	cmd  *exec.Cmd // nil: it does not run
}

// Binary returns the server's program: the one that PETCAT_TEST_REDIS names, or
// else the one that is installed. It skips the test when there is none.
func Binary(tb testing.TB) string {
	tb.Helper()
	tooltest.NeedServer(tb)
	if name := os.Getenv("PETCAT_TEST_REDIS"); name != "" {
		// Not some other version in its place: whoever names one wants to know
		// about that one.
		path, err := exec.LookPath(name)
		if err != nil {
			tb.Fatalf("PETCAT_TEST_REDIS is to name the program of Redis or Valkey: %v", err)
		}
		return path
	}
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	tooltest.Missing(tb, "neither redis-server nor valkey-server is installed; on Debian: apt-get install redis-server")
	return ""
}

// Start starts a server with further settings, such as "--requirepass", "x". It
// ends with the test.
func Start(tb testing.TB, settings ...string) *Server {
	tb.Helper()
	binary := Binary(tb)
	for attempt := 0; ; attempt++ {
		s := newServer(tb, binary, settings...)
		err := s.launch()
		if err == nil {
			tb.Cleanup(s.end)
			return s
		}
		s.end()
		// Somebody else may have taken the port meanwhile.
		if attempt == 3 {
			tb.Fatalf("starting %s: %v", binary, err)
		}
	}
}

// portArg is where in a server's arguments its port is.
const portArg = 2

func newServer(tb testing.TB, binary string, settings ...string) *Server {
	tb.Helper()
	dir, port := tb.TempDir(), FreePort(tb)
	s := &Server{tb: tb, port: port, log: filepath.Join(dir, "log")}
	s.args = append([]string{
		binary, "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir, "--logfile", s.log,
		"--save", "", "--appendonly", "no", "--rdb-del-sync-files", "yes", "--daemonize", "no", "--protected-mode", "no",
	}, settings...)
	return s
}

// FreePort returns a port that nobody listened on a moment ago.
func FreePort(tb testing.TB) int {
	tb.Helper()
	// A cluster's second port is 10,000 higher and must exist, too.
	for {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			tb.Fatal(err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		_ = l.Close()
		if port < 55_000 {
			return port
		}
	}
}

// launch starts the process and waits until it answers.
func (s *Server) launch() error {
	cmd := exec.Command(s.args[0], s.args[1:]...)
	prepare(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	s.cmd = cmd
	for deadline := time.Now().Add(timeout); ; time.Sleep(10 * time.Millisecond) {
		// A server that wants a password is there, too.
		reply, err := s.Do("PING")
		if err == nil && reply == "PONG" || errors.Is(err, ErrRefused) {
			return nil
		}
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(s.log)
			return fmt.Errorf("it did not answer within %s: %w\n%s", timeout, err, text)
		}
	}
}

// Address returns host and port.
func (s *Server) Address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// Port returns the port.
func (s *Server) Port() int { return s.port }

// URL returns the server's URL, without a password.
func (s *Server) URL() string { return "redis://" + s.Address() }

// Kill ends the server as a power cut would.
func (s *Server) Kill() {
	s.tb.Helper()
	if s.cmd == nil {
		return
	}
	if err := kill(s.cmd.Process); err != nil {
		s.tb.Fatal(err)
	}
	_ = s.cmd.Wait()
	s.cmd = nil
}

// Restart starts the server again, empty, on the same port.
func (s *Server) Restart() {
	s.tb.Helper()
	s.Kill()
	if err := s.launch(); err != nil {
		s.tb.Fatal(err)
	}
}

// Follow makes the server a replica of the one at an address, and waits until it has
// its data. That may be the address of a proxy, behind which the replica can be left behind.
func (s *Server) Follow(address string) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		s.tb.Fatal(err)
	}
	s.MustDo("REPLICAOF", host, port)
	s.Until("it follows", func() bool {
		return strings.Contains(s.MustDo("INFO", "replication"), "master_link_status:up")
	})
}

// TakeOver makes a replica a primary that listens where another server did, which was
// killed.
func (s *Server) TakeOver(killed *Server) {
	s.MustDo("REPLICAOF", "NO", "ONE")
	port := strconv.Itoa(killed.port)
	s.MustDo("CONFIG", "SET", "port", port)
	s.port, s.args[portArg] = killed.port, port
}

// Hang suspends the server: it takes connections and answers nothing.
func (s *Server) Hang() {
	s.tb.Helper()
	if err := suspend(s.cmd.Process); err != nil {
		s.tb.Fatal(err)
	}
}

// Resume ends what Hang began.
func (s *Server) Resume() {
	s.tb.Helper()
	if err := resume(s.cmd.Process); err != nil {
		s.tb.Fatal(err)
	}
}

// Flush empties the server.
func (s *Server) Flush() { s.MustDo("FLUSHALL") }

func (s *Server) end() {
	if s.cmd != nil {
		_ = kill(s.cmd.Process)
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}
