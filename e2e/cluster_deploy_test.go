//go:build unix

package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"petcat/internal/pgtest"
	"petcat/internal/tooltest"
)

// readmeDatabase finds what the README lets a stranger tell psql.
var readmeDatabase = regexp.MustCompile(`psql -c "(CREATE ROLE petcat [^"]+)" -c "(CREATE DATABASE petcat [^"]+)"`)

// asReadme makes a role and a database with the README's statements, under a
// name that is not taken, and returns the URL of its form.
func asReadme(t *testing.T, postgres *pgtest.Server) (database string) {
	t.Helper()
	text, err := os.ReadFile("../README.md")
	must(t, err)
	statements := readmeDatabase.FindStringSubmatch(string(text))
	if statements == nil {
		t.Fatal("README.md does not say how to make the database")
	}
	name := fmt.Sprint("stranger", time.Now().UnixNano()) // goes with the server
	for _, statement := range statements[1:] {
		postgres.Execute(t, "postgres", strings.ReplaceAll(statement, "petcat", name))
	}
	return "postgres://" + name + ":PASSWORD@" + postgres.Address() + "/" + name
}

// freeStretch returns a port that is free, as are those that three-nodes.sh takes
// with it. They are below those that the system gives away.
func freeStretch(t *testing.T) int {
	t.Helper()
	free := func(port int) bool {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return false
		}
		return l.Close() == nil
	}
search:
	for port := 18080 + os.Getpid()%40*200; port < 32000; port += 200 {
		for _, n := range []int{0, 21, 22, 23, 121, 122, 123} {
			if !free(port + n) {
				continue search
			}
		}
		return port
	}
	t.Fatal("there are no free ports")
	return 0
}

// threeNodes runs deploy/proxy/three-nodes.sh as somebody at a terminal does.
func threeNodes(t *testing.T, port int, variables ...string) *server {
	t.Helper()
	// Where Debian has it, and where only root looks.
	t.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin")
	tooltest.Find(t, "haproxy", "haproxy")
	s := newServer(t, "")
	s.api = fmt.Sprint("http://127.0.0.1:", port)
	cmd := exec.Command("../deploy/proxy/three-nodes.sh", fmt.Sprint(port))
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "PETCAT=" + programFile}, variables...)
	cmd.Stdout, cmd.Stderr = s.stdout, s.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	must(t, cmd.Start())
	s.process = cmd.Process
	go func() {
		defer close(s.ended)
		_ = cmd.Wait() // returns when nobody is left who could write
		s.code = cmd.ProcessState.ExitCode()
	}()
	return s
}

// ctrlC is what a terminal does.
func (s *server) ctrlC() {
	s.t.Helper()
	must(s.t, syscall.Kill(-s.process.Pid, syscall.SIGINT))
}

// TestClusterOfTheReadme runs the README's commands: the database, the three
// nodes, which count in it, and the proxy before them.
func TestClusterOfTheReadme(t *testing.T) {
	database, port := asReadme(t, sharedPostgres.Server(t)), freeStretch(t)
	s := threeNodes(t, port, "PETCAT_DATABASE="+database, "PETCAT_LOG_LEVEL=info")
	t.Cleanup(func() { // a test that failed before: what holds the nodes goes last
		if t.Failed() {
			t.Logf("output of the script and the nodes:\n%s", last(s.stdout.String(), 4000))
		}
		if s.process.Signal(syscall.SIGTERM) == nil {
			<-s.ended
		}
	})
	eventually(t, 30*time.Second, "the nodes are ready", func() bool {
		select {
		case <-s.ended:
			t.Fatalf("the script ended with %d: %s", s.code, s.log)
		default:
		}
		return strings.Contains(s.stdout.String(), "Ctrl-C stops all")
	})
	(&front{server: s, listen: fmt.Sprint("127.0.0.1:", port)}).wantOnlyHTTP1()
	key := newCaller(t, database)
	nodes := make([]*server, 3)
	for i := range nodes {
		nodes[i] = &server{t: t, client: s.client, api: fmt.Sprint("http://127.0.0.1:", port+21+i), admin: fmt.Sprint("http://127.0.0.1:", port+121+i)}
	}
	for i, node := range nodes {
		node.mustCreate(key, fmt.Sprint("pet", i))
		if got := s.categories(key); len(got) != i+1 {
			t.Errorf("after a create on node %d the proxy lists %v", i+1, got)
		}
	}
	s.mustCreate(key, "dog")
	for i, node := range nodes {
		if got := node.categories(key); len(got) != 4 {
			t.Errorf("node %d lists %v", i+1, got)
		}
		if limit := node.metric("petcat_limiter_shared_total"); limit == 0 {
			t.Errorf("node %d counted nothing together with the others", i+1)
		}
	}

	s.client.CloseIdleConnections()
	s.ctrlC()
	if code := s.wait(15 * time.Second); code != exitDone {
		t.Errorf("it ended with %d: %s", code, s.log)
	}
	for _, n := range []int{0, 21, 22, 23, 121, 122, 123} {
		if conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port+n)); err == nil {
			_ = conn.Close()
			t.Errorf("somebody still listens on %d", port+n)
		}
	}
}

// TestThreeNodesSaysWhatIsMissing: whoever forgot something is told what.
func TestThreeNodesSaysWhatIsMissing(t *testing.T) {
	for _, c := range []struct {
		name      string
		variables []string
		code      int
		says      string
	}{
		{"no database", nil, exitConfig, "export PETCAT_DATABASE="},
		{"no server", []string{"PETCAT_DATABASE=postgres://petcat:PASSWORD@127.0.0.1:1/petcat", "PETCAT_LIMITER=redis://127.0.0.1:1"}, exitTryLater, "cannot be reached"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := threeNodes(t, freeStretch(t), c.variables...)
			if code := s.wait(20 * time.Second); code != c.code || !strings.Contains(s.stdout.String()+s.log.String(), c.says) {
				t.Errorf("it ended with %d: %s%s", code, s.stdout, s.log)
			}
		})
	}
}
