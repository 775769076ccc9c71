package e2e

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"petcat/internal/apicheck"
	"petcat/internal/pgtest"
)

// The exit codes that the program promises.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitData        = 65
	exitTryLater    = 75
	exitConfig      = 78
	exitInterrupted = 130
)

// patience is how long something may take that is not lost: only what hangs takes longer.
const patience = 30 * time.Second

// program is the file of the program that is tested. TestMain builds it.
var program string

// sharedPostgres serves the tests that do not hurt it.
var sharedPostgres pgtest.Shared

func TestMain(m *testing.M) {
	code, err := buildAndRun(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// buildAndRun builds the program, runs all tests, and removes what they share.
func buildAndRun(m *testing.M) (code int, err error) {
	flag.Parse()
	if testing.Short() { // every test here starts servers
		return 0, nil
	}
	dir, err := os.MkdirTemp("", "petcat-e2e-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program = filepath.Join(dir, "petcat")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", program, "../cmd/petcat").CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build the program: %w: %s", err, out)
	}
	defer sharedPostgres.Remove()
	// Most of them wait for processes most of the time.
	if err := flag.Set("test.parallel", "6"); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually looks again and again until something holds: the one way in which tests wait.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for end := time.Now().Add(patience); !holds(); <-look.C {
		if time.Now().After(end) {
			t.Fatalf("waited %s in vain until %s", patience, what)
		}
	}
}

// directory returns a place for data that does not exist yet, with a space in its path.
func directory(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "the data")
}

// database returns the URL of a database for one test.
func database(t testing.TB) string {
	t.Helper()
	return sharedPostgres.Server(t).Database(t)
}

// onBothDatabases runs a test on each kind of place.
func onBothDatabases(t *testing.T, test func(t *testing.T, place string)) {
	t.Helper()
	for name, place := range map[string]func(testing.TB) string{"SQLite": directory, "PostgreSQL": database} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, place(t))
		})
	}
}

// placed adds the flag that says where the data is: a directory, or the URL of a database.
func placed(place string, args ...string) []string {
	if strings.Contains(place, "://") {
		return append(slices.Clone(args), "--database", place)
	}
	return append(slices.Clone(args), "--data", place)
}

// command returns the program with arguments, and with no variables but those that every
// process has. It dies with the test.
func command(args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(program), "TZ=" + os.Getenv("TZ")}
	cmd.SysProcAttr = diesWithTest()
	return cmd
}

// outcome is how a command ended, and what it printed.
type outcome struct {
	code           int // -1 for a signal
	stdout, stderr string
}

// finish runs a command to its end.
func finish(t testing.TB, cmd *exec.Cmd) (o outcome) {
	t.Helper()
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// run runs a command without a place.
func run(t testing.TB, args ...string) outcome {
	t.Helper()
	return finish(t, command(args...))
}

// petcat runs a management command on a place, which has to succeed.
func petcat(t testing.TB, place string, args ...string) (stdout string) {
	t.Helper()
	o := run(t, placed(place, args...)...)
	if o.code != exitDone {
		t.Fatalf("petcat %q ended with %d: %s%s", args, o.code, o.stdout, o.stderr)
	}
	return o.stdout
}

// petcatJSON is petcat for what prints JSON.
func petcatJSON[T any](t testing.TB, place string, args ...string) (document T) {
	t.Helper()
	text := petcat(t, place, append(args, "--json")...)
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		t.Fatalf("petcat %q prints no JSON: %v: %s", args, err, text)
	}
	return document
}

// key is an API key: its id, and the secret that callers send.
type key struct{ ID, Key string }

// unlimited is a plan whose quotas no test reaches; limited is one that it may.
var unlimited = limited("1000000000", "1000000000")

func limited(perMinute, perDay string) []string {
	return []string{"enterprise", "--per-minute", perMinute, "--per-day", perDay}
}

// newKey makes an account, and the deployment if there is none, and a key. plan is what
// follows --plan.
func newKey(t testing.TB, place, account string, plan ...string) key {
	t.Helper()
	petcat(t, place, "init")
	petcat(t, place, append([]string{"account", "create", account, "--plan"}, plan...)...)
	return petcatJSON[key](t, place, "key", "create", account)
}

// node is a process of the program that serves.
type node struct {
	t      testing.TB
	place  string
	client *http.Client // checks every answer of the API
	// api and admin are the URLs where it listens, without a slash at the end.
	api, admin  string
	log, stdout text
	process     *os.Process
	ended       chan struct{}
	code        int // how it ended, -1 by a signal; set before ended is closed
}

// launch starts a node, and does not wait for it.
func launch(t testing.TB, place string, flags ...string) *node {
	t.Helper()
	return launchCommand(t, place, command(serveArguments("serve", place, flags)...))
}

// serveArguments let a server choose free ports.
func serveArguments(name, place string, flags []string) []string {
	own := []string{"--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--log-format", "json"}
	return slices.Concat(placed(place, name), own, flags)
}

func launchCommand(t testing.TB, place string, cmd *exec.Cmd) *node {
	t.Helper()
	n := &node{t: t, place: place, ended: make(chan struct{}), client: newClient(t, &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 100})}
	cmd.Stdout = &n.stdout
	if cmd.Stderr == nil {
		cmd.Stderr = &n.log
	}
	must(t, cmd.Start())
	n.process = cmd.Process
	go func() {
		defer close(n.ended)
		_ = cmd.Wait() // the code says how it went
		n.code = cmd.ProcessState.ExitCode()
	}()
	t.Cleanup(func() {
		n.kill()
		if t.Failed() {
			t.Logf("the end of the log of the node at %s:\n%s", n.api, n.log.events())
		}
	})
	return n
}

// serve starts a node and waits until it is ready.
func serve(t testing.TB, place string, flags ...string) *node {
	t.Helper()
	n := launch(t, place, flags...)
	n.awaitReady()
	return n
}

// serveAll starts so many nodes at once.
func serveAll(t testing.TB, count int, place string, flags ...string) (nodes []*node) {
	t.Helper()
	petcat(t, place, "init")
	for range count {
		nodes = append(nodes, launch(t, place, flags...))
	}
	for _, n := range nodes {
		n.awaitReady()
	}
	return nodes
}

// awaitReady waits for the line that says that the node is ready, and where it listens.
func (n *node) awaitReady() {
	n.t.Helper()
	eventually(n.t, "the node is ready", func() bool {
		select {
		case <-n.ended:
			n.t.Fatalf("the node ended with %d instead: %s", n.code, n.log.String())
		default:
		}
		return n.saysReady()
	})
}

// saysReady looks for the line that says that the node is ready.
func (n *node) saysReady() bool {
	for line := range strings.Lines(n.log.String()) {
		var entry struct{ Msg, Listen, Admin string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "ready" {
			n.api, n.admin = "http://"+entry.Listen, entry.Admin
		}
	}
	return n.api != ""
}

// signal sends a signal to the node.
func (n *node) signal(s os.Signal) {
	n.t.Helper()
	must(n.t, n.process.Signal(s))
}

// wait returns the exit code of a node that is about to end.
func (n *node) wait() int {
	n.t.Helper()
	select {
	case <-n.ended:
	case <-time.After(patience):
		n.t.Fatalf("the node has not ended after %s", patience)
	}
	return n.code
}

// stop stops the node, which has to end well.
func (n *node) stop() {
	n.t.Helper()
	n.signal(syscall.SIGTERM)
	if code := n.wait(); code != exitDone {
		n.t.Errorf("the node ended with %d: %q", code, n.sentences())
	}
}

// kill ends the node as kill -9 does.
func (n *node) kill() {
	n.client.CloseIdleConnections()
	_ = n.process.Kill() // it may have ended already
	<-n.ended
}

// sentences returns what a program says to people when it ends: the lines that are not of
// the log.
func (n *node) sentences() (said []string) {
	for line := range strings.Lines(n.log.String()) {
		if !json.Valid([]byte(line)) {
			said = append(said, strings.TrimSuffix(line, "\n"))
		}
	}
	return said
}

// newClient returns a client that checks every answer of the API.
func newClient(t testing.TB, base *http.Transport) *http.Client {
	t.Helper()
	t.Cleanup(base.CloseIdleConnections)
	return &http.Client{Timeout: patience, Transport: &checked{apicheck.New(t, base, func() int64 { return time.Now().Unix() }), base}}
}

// checked lets the client close its idle connections through the checker.
type checked struct {
	*apicheck.Transport
	base *http.Transport
}

func (c *checked) CloseIdleConnections() { c.base.CloseIdleConnections() }

// text is what a program writes.
type text struct {
	mu     sync.Mutex
	buffer bytes.Buffer // guarded by mu
}

func (x *text) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.buffer.Len() > 64<<20 { // of a long run the end is enough
		x.buffer.Next(32 << 20)
	}
	return x.buffer.Write(p)
}

func (x *text) String() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.buffer.String()
}

// events returns the end of a log, without the requests that went well.
func (x *text) events() string {
	var events strings.Builder
	for line := range strings.Lines(x.String()) {
		if !strings.Contains(line, `"msg":"request"`) || strings.Contains(line, `"status":5`) {
			events.WriteString(line)
		}
	}
	return events.String()[max(0, events.Len()-4000):]
}
