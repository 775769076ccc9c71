//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"petcat/internal/tooltest"
)

// earlierReleases names a commit in each line: a release that must be able to serve beside
// this one. Behind it, "back: no, ..." says why nobody can return to it, and "hasty" that a
// node of it, when it has just started, refuses requests if the counters answer late.
const earlierReleases = "testdata/earlier-releases"

// release is the program of an earlier commit.
type release struct {
	name    string
	program string
	noWay   bool // back to it: its schema is older
	hasty   bool
}

// withEarlierReleases runs a test with each earlier release, beside other tests when they
// are built.
func withEarlierReleases(t *testing.T, test func(*testing.T, release)) {
	t.Helper()
	tooltest.NeedServer(t)
	text, err := os.ReadFile(earlierReleases)
	must(t, err)
	var releases []release
	for line := range strings.Lines(string(text)) {
		commit, more, _ := strings.Cut(strings.TrimSpace(line), " ")
		r := buildRelease(t, commit)
		r.noWay, r.hasty = strings.Contains(more, "back: no, "), strings.HasPrefix(more, "hasty")
		r.name = commit[:7]
		releases = append(releases, r)
	}
	t.Parallel()
	for _, r := range releases {
		t.Run(r.name, func(t *testing.T) { test(t, r) })
	}
}

// buildRelease builds the program of a commit from git, once for all tests. A copy of the
// repository without its history does not have it.
func buildRelease(t *testing.T, commit string) release {
	t.Helper()
	if exec.Command("git", "cat-file", "-e", commit+"^{commit}").Run() != nil {
		t.Skipf("this copy of the repository does not have commit %s: git fetch --unshallow", commit)
	}
	dir := filepath.Join(filepath.Dir(programFile), commit)
	program := filepath.Join(dir, "petcat")
	if _, err := os.Stat(program); err == nil {
		return release{program: program}
	}
	build := exec.Command("sh", "-ec", `mkdir -p "$1"; git -C .. archive "$0" | tar -x -C "$1"; cd "$1"; exec go build -buildvcs=false -o "$2" ./cmd/petcat`, commit, dir, program)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the earlier release %s: %v: %s", commit, err, out)
	}
	return release{program: program}
}

// command returns the program with arguments.
func (r release) command(args ...string) *exec.Cmd {
	cmd := processOf(args...)
	if r.program != "" {
		cmd.Path, cmd.Args[0] = r.program, r.program
	}
	return cmd
}

// today is the program that is tested.
var today release

// newCaller makes an account without limits and returns a key for it, as newCaller does,
// by the commands of the release: those of a later one refuse its schema.
func (r release) newCaller(t *testing.T, data string) (key string) {
	t.Helper()
	do := func(args ...string) []byte {
		t.Helper()
		out, err := r.command(append(args, placeFlags(data)...)...).Output()
		if err != nil {
			t.Fatalf("%q of the earlier release: %v", args, err)
		}
		return out
	}
	do(append([]string{"account", "create", "caller", "--plan"}, unlimited...)...)
	var k struct{ Key string }
	must(t, json.Unmarshal(do("key", "create", "caller", "--json"), &k))
	return k.Key
}

// startAt starts a node of a release at addresses ("127.0.0.1:0": any).
func (r release) startAt(c *cluster, listen, admin string) *server {
	c.t.Helper()
	s := newServer(c.t, c.database)
	s.launch(r.command(serveFlags("serve", c.database, []string{
		"--limiter", c.redis.URL(), "--shutdown-timeout", "10s", "--trusted-proxies", "127.0.0.1", "--bans", "off",
		"--listen", listen, "--admin-listen", admin,
	})...))
	s.awaitReady()
	return s
}

// startHaproxy starts haproxy with the configuration for three nodes that we ship, and
// returns a server by which its answers are checked.
func startHaproxy(t *testing.T, nodes []*server) *server {
	t.Helper()
	address := freeAddress(t)
	portOf := func(url string) string { return url[strings.LastIndex(url, ":")+1:] }
	cmd := exec.Command(tooltest.Find(t, "haproxy", "haproxy"), "-db", "-f", "../deploy/proxy/three-nodes.cfg")
	cmd.Env = []string{"API_PORT=" + portOf(address)}
	for i, s := range nodes {
		cmd.Env = append(cmd.Env, fmt.Sprintf("NODE_%d=%s", i+1, portOf(s.api)), fmt.Sprintf("ADMIN_%d=%s", i+1, portOf(s.admin)))
	}
	return startProxy(t, cmd, address)
}

// TestClusterTwoReleases: nodes of an earlier release and of this one serve side by side
// on one database and one Redis. While they are replaced one by one, there and back unless
// the schema has changed, behind the proxy that we ship, no request fails, limits are exact,
// and nothing that was acknowledged is lost.
func TestClusterTwoReleases(t *testing.T) { //nolint:tparallel // one release after the other
	withEarlierReleases(t, replaceNodes)
}

func replaceNodes(t *testing.T, earlier release) {
	t.Helper()
	c := newCluster(t)
	for range 3 {
		c.nodes = append(c.nodes, earlier.startAt(c, "127.0.0.1:0", "127.0.0.1:0"))
	}
	key := earlier.newCaller(t, c.database)
	c.remember(key)
	front := startHaproxy(t, c.nodes)
	use := useFront(t, front, key, 4, earlier.hasty)
	limitsHold := func(what string) {
		t.Helper()
		c.knowEachOther()
		c.exactly(what, 60, func(begins func()) []int {
			return c.spendMinutes(what, burst{nodes: c.nodes, each: 80, clients: 6, spread: even, begins: begins}, 2, func() {})
		})
	}
	roll := func(to release, what string) {
		t.Helper()
		for i, s := range c.nodes {
			listen, admin := strings.TrimPrefix(s.api, "http://"), strings.TrimPrefix(s.admin, "http://")
			if code := s.stop(); code != exitDone {
				t.Errorf("%s: a node ended with %d: %q", what, code, s.log.sentences())
			}
			c.nodes[i] = to.startAt(c, listen, admin)
			if i == 1 {
				limitsHold(what)
			}
		}
	}
	if !earlier.noWay { // else it needs accounts that no command of this release may make
		limitsHold("the earlier release")
	}
	roll(today, "two nodes of three are of this release")
	limitsHold("this release")
	if !earlier.noWay {
		roll(earlier, "two nodes of three are of the earlier release again")
		limitsHold("the earlier release again")
	}
	t.Logf("while nodes of two releases were replaced: %s", use.end(c.nodes[0]))
	front.client.CloseIdleConnections()
	c.mustStop()
}

// TestTwoReleasesOnOneFile: a deployment on SQLite goes to this release and back to the
// earlier one, and has everything. A release that does not know the schema says so.
func TestTwoReleasesOnOneFile(t *testing.T) { //nolint:tparallel // one release after the other
	withEarlierReleases(t, replaceOnOneFile)
}

func replaceOnOneFile(t *testing.T, earlier release) {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	start := func(r release) *server {
		t.Helper()
		s := newServer(t, data)
		s.launch(r.command(serveFlags("serve", data, nil)...))
		return s
	}
	var key string
	var names []string
	for i, r := range []release{earlier, today, earlier, today} {
		s := start(r)
		if earlier.noWay && i == 2 {
			if code := s.wait(20 * time.Second); code != exitConfig {
				t.Errorf("the earlier release ended with %d on a newer schema", code)
			}
			wantOneSentence(t, s.log.sentences(), "newer petcat")
			continue
		}
		s.awaitReady()
		if key == "" {
			key = earlier.newCaller(t, data)
		}
		name := fmt.Sprint("c", i)
		names = append(names, name)
		s.mustCreate(key, name)
		list := s.categories(key)
		if len(list) != len(names) {
			t.Errorf("start %d: it has %v, want %q", i+1, list, names)
		}
		for j, c := range list {
			if c.Name != names[j] {
				t.Errorf("start %d: category %d is %q, want %q", i+1, j, c.Name, names[j])
			}
		}
		s.mustStop()
	}
}
