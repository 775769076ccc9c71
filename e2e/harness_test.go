package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"petcat/internal/apicheck"
	"petcat/internal/stalltest"
	"petcat/internal/tooltest"
)

// server is a process of the program that serves.
type server struct {
	t testing.TB
	// data is where the data is: a directory, or the URL of a database.
	data string
	// client checks every answer of the API.
	client *http.Client
	// api and admin are where it listens, without a slash at the end.
	api, admin string
	begun      time.Time
	// startup is how long it took until the log said that it is ready.
	startup time.Duration
	log     *transcript
	stdout  *transcript

	measures *stalltest.Control // see control

	process *os.Process // nil before it was started
	ended   chan struct{}
	code    int // how it ended, -1 by a signal; set before ended is closed
}

// placeFlags say where the data is.
func placeFlags(data string) []string {
	if strings.Contains(data, "://") {
		return []string{"--database", data}
	}
	return []string{"--data", data}
}

// serveFlags let a server choose free ports and stop quickly.
func serveFlags(command, data string, more []string) []string {
	return slices.Concat([]string{command}, placeFlags(data), []string{
		"--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--log-format", "json", "--shutdown-timeout", "2s",
	}, more)
}

// serve starts a server and waits until it is ready.
func serve(t testing.TB, data string, flags ...string) *server {
	t.Helper()
	return startProcess(t, data, serveFlags("serve", data, flags)...)
}

// startProcess starts a command that serves, and waits until it is ready.
func startProcess(t testing.TB, data string, args ...string) *server {
	t.Helper()
	s := launchProcess(t, data, args...)
	s.awaitReady()
	return s
}

// launchProcess is startProcess without the wait.
func launchProcess(t testing.TB, data string, args ...string) *server {
	t.Helper()
	s := newServer(t, data)
	s.launch(processOf(args...))
	return s
}

// launch starts the process that is the server.
func (s *server) launch(cmd *exec.Cmd) {
	s.t.Helper()
	cmd.Stdout, cmd.Stderr = s.stdout, s.log
	must(s.t, cmd.Start())
	s.process = cmd.Process
	go func() {
		defer close(s.ended)
		_ = cmd.Wait() // the code says how it went
		s.code = cmd.ProcessState.ExitCode()
	}()
}

func newServer(t testing.TB, data string) *server {
	t.Helper()
	tooltest.NeedServer(t)
	s := &server{t: t, data: data, log: &transcript{}, stdout: &transcript{}, ended: make(chan struct{}), client: newClient(t), begun: time.Now()}
	t.Cleanup(func() {
		s.client.CloseIdleConnections()
		s.kill()
		if t.Failed() {
			t.Logf("log of the server, without what went well:\n%s", last(s.log.events(), 4000))
		}
	})
	return s
}

// newClient returns a client whose answers are all checked.
func newClient(t testing.TB) *http.Client {
	t.Helper()
	return checking(t, &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 100, ExpectContinueTimeout: time.Minute})
}

// checking is newClient on a transport of one's own.
func checking(t testing.TB, base *http.Transport) *http.Client {
	t.Helper()
	return &http.Client{Timeout: 30 * time.Second, Transport: &checked{
		Transport: apicheck.New(t, base, func() int64 { return time.Now().Unix() }), base: base,
	}}
}

// checked lets the client close its idle connections through the checker.
type checked struct {
	*apicheck.Transport
	base *http.Transport
}

func (c *checked) CloseIdleConnections() { c.base.CloseIdleConnections() }

// control returns what judges whether the server is late, or the machine stalls.
func (s *server) control() *stalltest.Control {
	s.t.Helper()
	if s.measures == nil {
		s.measures = stalltest.Start(s.t)
	}
	return s.measures
}

// awaitReady waits for the line that says where the server listens.
func (s *server) awaitReady() {
	s.t.Helper()
	eventually(s.t, 20*time.Second, "the server is ready", func() bool {
		select {
		case <-s.ended:
			s.t.Fatalf("the server ended with %d instead: %s", s.code, s.log)
		default:
		}
		at, listen, admin := s.log.ready()
		s.startup, s.api, s.admin = at.Sub(s.begun), "http://"+listen, admin
		return !at.IsZero()
	})
}

// signal sends a signal to the server.
func (s *server) signal(sig os.Signal) {
	s.t.Helper()
	must(s.t, s.process.Signal(sig))
}

// stop tells the server to stop and returns its exit code.
func (s *server) stop() int {
	s.t.Helper()
	s.signal(syscall.SIGTERM)
	return s.wait(20 * time.Second)
}

// mustStop is stop for what has to end well.
func (s *server) mustStop() {
	s.t.Helper()
	if code := s.stop(); code != exitDone {
		s.t.Fatalf("the server ended with %d", code)
	}
}

// wait returns the exit code of a server that is about to end.
func (s *server) wait(timeout time.Duration) int {
	s.t.Helper()
	select {
	case <-s.ended:
		return s.code
	case <-time.After(timeout):
		s.t.Fatalf("the server has not ended after %s", timeout)
		return 0
	}
}

// kill ends the server as a power cut would.
func (s *server) kill() {
	if s.process == nil {
		return
	}
	_ = s.process.Kill() // it may have ended already
	<-s.ended
}

// transcript is what a program writes, line by line.
type transcript struct {
	mu      sync.Mutex
	text    bytes.Buffer // guarded by mu
	readyAt time.Time    // guarded by mu: when the line that says so came
	most    int          // bytes to keep, 0 for all; guarded by mu
}

// readyLine marks the line in which a server says that it is ready.
const readyLine = `"msg":"ready"`

func (l *transcript) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.readyAt.IsZero() && bytes.Contains(p, []byte(readyLine)) {
		l.readyAt = time.Now()
	}
	if l.most > 0 && l.text.Len() > l.most {
		l.text.Next(l.text.Len() - l.most/2)
	}
	return l.text.Write(p)
}

// atMost keeps no more than the last so many bytes from now on.
func (l *transcript) atMost(bytes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.most = bytes
}

func (l *transcript) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// events returns the log without requests that were answered as requests are: there
// may be thousands.
func (l *transcript) events() string {
	var events strings.Builder
	for line := range strings.Lines(l.String()) {
		var entry struct {
			Msg    string
			Status int
		}
		if json.Unmarshal([]byte(line), &entry) != nil || entry.Msg != "request" || entry.Status >= http.StatusInternalServerError {
			events.WriteString(line)
		}
	}
	return events.String()
}

// ready returns when the server said that it is ready, and what; at is zero
// before.
func (l *transcript) ready() (at time.Time, listen, admin string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.readyAt.IsZero() {
		return at, "", ""
	}
	for line := range bytes.Lines(l.text.Bytes()) {
		var entry struct{ Listen, Admin string }
		if bytes.Contains(line, []byte(readyLine)) && json.Unmarshal(line, &entry) == nil {
			return l.readyAt, entry.Listen, entry.Admin
		}
	}
	return time.Time{}, "", "" // half of the line
}

// sentences returns the lines that are not of the log: what a program says to
// people when it ends.
func (l *transcript) sentences() []string {
	var said []string
	for line := range strings.Lines(l.String()) {
		if !json.Valid([]byte(line)) {
			said = append(said, strings.TrimSuffix(line, "\n"))
		}
	}
	return said
}

var _ io.Writer = (*transcript)(nil)
