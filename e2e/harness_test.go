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

	"github.com/petcat-api/petcat/internal/apicheck"
	"github.com/petcat-api/petcat/internal/pgtest"
)

// The documented exit codes.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitData        = 65
	exitTryLater    = 75
	exitConfig      = 78
	exitInterrupted = 130
)

// patience is the timeout for a condition. Only a hang takes longer.
const patience = 30 * time.Second

// program is the path of the tested program. TestMain builds it.
var program string

// sharedPostgres is for tests that do not disturb it.
var sharedPostgres pgtest.Shared

func TestMain(m *testing.M) {
	code, err := buildAndRun(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// buildAndRun builds the program, runs all tests, and removes shared files.
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
	build := exec.Command("go", "build", "-buildvcs=false", "-o", program, "../cmd/petcat")
	if out, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build the program: %w: %s", err, out)
	}
	defer sharedPostgres.Remove()
	// Most tests mostly wait for processes.
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

// eventually polls until a condition holds. All tests wait this way.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for end := time.Now().Add(patience); !holds(); <-look.C {
		if time.Now().After(end) {
			t.Fatalf("timeout after %s: %s", patience, what)
		}
	}
}

// directory returns the path of a new data directory, with a space.
func directory(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "the data")
}

// database returns the URL of a database for one test.
func database(t testing.TB) string {
	t.Helper()
	return sharedPostgres.Server(t).Database(t)
}

// onBothDatabases runs a test on SQLite and on PostgreSQL.
func onBothDatabases(t *testing.T, test func(t *testing.T, place string)) {
	t.Helper()
	for name, place := range map[string]func(testing.TB) string{"SQLite": directory, "PostgreSQL": database} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, place(t))
		})
	}
}

// placed adds the flag for the place of the data: a directory, or the URL of a database.
func placed(place string, args ...string) []string {
	if strings.Contains(place, "://") {
		return append(slices.Clone(args), "--database", place)
	}
	return append(slices.Clone(args), "--data", place)
}

// command returns a command of the program with minimal environment variables. It dies with the test.
func command(args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(program), "TZ=" + os.Getenv("TZ")}
	cmd.SysProcAttr = diesWithTest()
	return cmd
}

// outcome is the exit code and the output of a command.
type outcome struct {
	code           int // -1 for a signal
	stdout, stderr string
}

// finish runs a command and returns its outcome.
func finish(t testing.TB, cmd *exec.Cmd) (o outcome) {
	t.Helper()
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// run runs a command of the program.
func run(t testing.TB, args ...string) outcome {
	t.Helper()
	return finish(t, command(args...))
}

// petcat runs a management command, which must succeed.
func petcat(t testing.TB, place string, args ...string) (stdout string) {
	t.Helper()
	o := run(t, placed(place, args...)...)
	if o.code != exitDone {
		t.Fatalf("petcat %q exited with %d: %s%s", args, o.code, o.stdout, o.stderr)
	}
	return o.stdout
}

// petcatJSON is petcat for commands that print JSON.
func petcatJSON[T any](t testing.TB, place string, args ...string) (document T) {
	t.Helper()
	text := petcat(t, place, append(args, "--json")...)
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		t.Fatalf("petcat %q does not print JSON: %v: %s", args, err, text)
	}
	return document
}

// key is an API key: its id and its secret.
type key struct{ ID, Key string }

// unlimited is a plan with quotas that no test reaches. limited is a plan with the given quotas.
var unlimited = limited("1000000000", "1000000000")

func limited(perMinute, perDay string) []string {
	return []string{"enterprise", "--per-minute", perMinute, "--per-day", perDay}
}

// newKey creates an account and a key, and the deployment if there is none. plan are the arguments
// after --plan.
func newKey(t testing.TB, place, account string, plan ...string) key {
	t.Helper()
	petcat(t, place, "init")
	petcat(t, place, append([]string{"account", "create", account, "--plan"}, plan...)...)
	return petcatJSON[key](t, place, "key", "create", account)
}

// node is a running server.
type node struct {
	t      testing.TB
	place  string
	client *http.Client // checks every API response
	// api and admin are the URLs of the listeners, without a trailing slash.
	api, admin  string
	log, stdout text
	process     *os.Process
	exited      chan struct{}
	code        int // exit code, -1 for a signal; set before exited is closed
}

// launch starts a node, and does not wait until it is ready.
func launch(t testing.TB, place string, flags ...string) *node {
	t.Helper()
	return launchCommand(t, place, command(serveArguments("serve", place, flags)...))
}

// serveArguments returns arguments for a server on free ports.
func serveArguments(name, place string, flags []string) []string {
	own := []string{"--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--log-format", "json"}
	return slices.Concat(placed(place, name), own, flags)
}

func launchCommand(t testing.TB, place string, cmd *exec.Cmd) *node {
	t.Helper()
	n := &node{t: t, place: place, exited: make(chan struct{})}
	cmd.Stdout = &n.stdout
	if cmd.Stderr == nil {
		cmd.Stderr = &n.log
	}
	must(t, cmd.Start())
	n.process = cmd.Process
	go func() {
		defer close(n.exited)
		_ = cmd.Wait() // the exit code has the result
		n.code = cmd.ProcessState.ExitCode()
	}()
	t.Cleanup(func() {
		n.kill()
		if t.Failed() {
			t.Logf("end of the log of the node at %s:\n%s", n.api, n.log.events())
		}
	})
	// After that cleanup, so that a test that fails in the client's shows the log.
	n.client = newClient(t, &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 100})
	return n
}

// serve starts a node and waits until it is ready.
func serve(t testing.TB, place string, flags ...string) *node {
	t.Helper()
	n := launch(t, place, flags...)
	n.awaitReady()
	return n
}

// serveAll starts several nodes concurrently.
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

// awaitReady waits until the node logs that it is ready.
func (n *node) awaitReady() {
	n.t.Helper()
	eventually(n.t, "the node is ready", func() bool {
		select {
		case <-n.exited:
			n.t.Fatalf("the node exited with %d: %s", n.code, n.log.String())
		default:
		}
		return n.saysReady()
	})
}

// saysReady reports whether the node logged that it is ready, and sets its URLs.
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

// wait waits until the node exits, and returns the exit code.
func (n *node) wait() int {
	n.t.Helper()
	select {
	case <-n.exited:
	case <-time.After(patience):
		n.t.Fatalf("the node did not exit within %s", patience)
	}
	return n.code
}

// stop stops the node, which must exit with 0.
func (n *node) stop() {
	n.t.Helper()
	n.signal(syscall.SIGTERM)
	if code := n.wait(); code != exitDone {
		n.t.Errorf("the node exited with %d: %q", code, n.sentences())
	}
}

// kill kills the node with SIGKILL.
func (n *node) kill() {
	if n.client != nil {
		n.client.CloseIdleConnections()
	}
	_ = n.process.Kill() // it may have exited
	<-n.exited
}

// sentences returns the cause of the exit in the log, and the lines on stderr that are not log lines.
func (n *node) sentences() (said []string) {
	for line := range strings.Lines(n.log.String()) {
		var logged struct {
			Error    string
			ExitCode int `json:"exit_code"`
		}
		if json.Unmarshal([]byte(line), &logged) != nil {
			said = append(said, strings.TrimSuffix(line, "\n"))
		} else if logged.ExitCode != 0 {
			said = append(said, logged.Error)
		}
	}
	return said
}

// newClient returns a client that checks every API response. The test fails if one is 503 without an
// outage.
func newClient(t testing.TB, base *http.Transport) *http.Client {
	t.Helper()
	c := &checked{Transport: apicheck.New(t, base, func() int64 { return time.Now().Unix() }), base: base}
	t.Cleanup(func() {
		base.CloseIdleConnections()
		c.report(t)
	})
	return &http.Client{Timeout: patience, Transport: c}
}

// checked is a checker that can close idle connections, and records responses with 503.
type checked struct {
	*apicheck.Transport

	base *http.Transport

	mu          sync.Mutex
	outage      bool     // a 503 is expected; guarded by mu
	unavailable []string // responses with 503 without an outage; guarded by mu
}

func (c *checked) CloseIdleConnections() { c.base.CloseIdleConnections() }

// RoundTrip implements [http.RoundTripper].
func (c *checked) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	outage := c.outage
	c.mu.Unlock()
	res, err := c.Transport.RoundTrip(r)
	if err != nil || res.StatusCode != http.StatusServiceUnavailable {
		return res, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !outage && !c.outage {
		c.unavailable = append(c.unavailable, r.Method+" "+r.URL.Path+" "+res.Header.Get("X-Request-Id"))
	}
	return res, nil
}

// report fails the test if there were responses with 503 without an outage. The log of the node has
// the reason.
func (c *checked) report(t testing.TB) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if count := len(c.unavailable); count > 0 {
		t.Errorf("%d responses were 503 without an outage; the first: %s", count, c.unavailable[0])
	}
}

// setOutage starts or ends an outage that the test causes: during it, 503 is a correct response.
func setOutage(t testing.TB, outage bool, clients ...*http.Client) {
	t.Helper()
	for _, client := range clients {
		c, ok := client.Transport.(*checked)
		if !ok {
			t.Fatalf("the transport is a %T", client.Transport)
		}
		c.mu.Lock()
		c.outage = outage
		c.mu.Unlock()
	}
}

// text is the output of a program.
type text struct {
	mu     sync.Mutex
	buffer bytes.Buffer // guarded by mu
}

func (x *text) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.buffer.Len() > 64<<20 { // keep only the end
		x.buffer.Next(32 << 20)
	}
	return x.buffer.Write(p)
}

func (x *text) String() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.buffer.String()
}

// events returns the end of a log, without successful requests.
func (x *text) events() string {
	var events strings.Builder
	for line := range strings.Lines(x.String()) {
		if !strings.Contains(line, `"msg":"request"`) || strings.Contains(line, `"status":5`) {
			events.WriteString(line)
		}
	}
	return events.String()[max(0, events.Len()-4000):]
}
