package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"petcat/internal/tooltest"
)

// The calls of the system that write, and those that make it durable.
const (
	syncs  = "fsync,fdatasync"
	writes = "write,pwrite64"
)

// strace returns the path of the program.
func strace(t *testing.T) string { t.Helper(); return tooltest.Find(t, "strace", "strace") }

// petcatOnBrokenDisk runs a command whose calls on a file fail, and returns how it
// ended.
func petcatOnBrokenDisk(t *testing.T, calls, errno, file string, args ...string) (code int, stdout string, said []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, strace(t), slices.Concat([]string{
		"-f", "-o", "/dev/null", "-P", file,
		"-e", "trace=" + calls, "-e", fmt.Sprintf("inject=%s:error=%s", calls, errno), programFile,
	}, args)...)
	var out, errs transcript
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	cmd.SysProcAttr = diesWithTest()
	cmd.SysProcAttr.Setpgid = true // what strace runs does not end with it
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	_ = cmd.Run() // the code says how it went
	return cmd.ProcessState.ExitCode(), out.String(), errs.sentences()
}

// faults makes calls of a running process on a file fail, by strace: the program
// has no part in it.
type faults struct {
	t     *testing.T
	trace *exec.Cmd
	first chan struct{} // closed at the first call that fails
}

// breakDisk lets all such calls fail until heal is called. It returns when they do.
func (f *faults) breakDisk(s *server, calls, errno, file string) {
	t := f.t
	t.Helper()
	f.trace = exec.Command(strace(t), "-f", "-p", strconv.Itoa(s.process.Pid), "-P", file,
		"-e", "trace="+calls, "-e", fmt.Sprintf("inject=%s:error=%s", calls, errno))
	f.trace.SysProcAttr = diesWithTest()
	said, err := f.trace.StderrPipe()
	must(t, err)
	must(t, f.trace.Start())
	attached := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		lines, begun, failed := bufio.NewScanner(said), false, false
		for lines.Scan() {
			if !begun && strings.Contains(lines.Text(), "attached") {
				begun = true
				close(attached)
			}
			if !failed && strings.Contains(lines.Text(), "(INJECTED)") {
				failed = true
				close(f.first)
			}
		}
	}()
	t.Cleanup(func() { f.heal(); <-ended })
	select {
	case <-attached:
	case <-ended:
		t.Fatal("strace cannot look at the server")
	}
}

func newFaults(t *testing.T) *faults {
	t.Helper()
	return &faults{t: t, first: make(chan struct{})}
}

// heal lets the calls work again.
func (f *faults) heal() {
	_ = f.trace.Process.Signal(os.Interrupt) // it may have ended already
	_ = f.trace.Wait()
}

// clients create categories until nobody answers any more, or enough has been
// created.
type clients struct {
	server *server
	key    string
	ledger *ledger
	broken <-chan struct{} // closed when the disk has failed
	late   atomic.Int64    // creates that were sent after that and answered with 201
	sent   atomic.Int64
}

func (c *clients) run(t *testing.T, each int) {
	t.Helper()
	body := func(name string) string {
		return fmt.Sprintf(`{"name":%q,"description":%q}`, name, strings.Repeat("犬", 10_000)) // eight pages
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range each {
				after := false
				select {
				case <-c.broken:
					after = true
				default:
				}
				name := "pet " + strconv.FormatInt(c.sent.Add(1), 10)
				c.ledger.send(name)
				a, err := c.server.try(http.MethodPost, c.server.api+"/v1/categories", strings.NewReader(body(name)), withKey(c.key))
				if err != nil {
					return
				}
				if a.StatusCode != http.StatusCreated {
					continue
				}
				if after {
					c.late.Add(1)
				}
				var created category
				if err := json.Unmarshal(a.body, &created); err != nil {
					t.Error(err)
				}
				c.ledger.acknowledge(created)
			}
		})
	}
	group.Wait()
}

// TestDiskErrors: after a write or a sync of any file has failed, nothing is
// acknowledged any more; the program ends so that its supervisor starts it again,
// and everything that was acknowledged is there.
func TestDiskErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file, calls string
		after       int // creates
	}{
		{"petcat.db", syncs, 0},
		{"petcat.db", syncs, 300},
		{"petcat.db", writes, 300},
		{"petcat.db-wal", syncs, 50},
		{"petcat.db-wal", writes, 50},
	} {
		t.Run(fmt.Sprintf("%s of %s after %d", c.calls, c.file, c.after), func(t *testing.T) {
			t.Parallel()
			data := filepath.Join(t.TempDir(), "data")
			s := serve(t, data)
			key := newCaller(t, data)
			known := newLedger()
			f := newFaults(t)
			load := &clients{server: s, key: key, ledger: known, broken: f.first}
			loaded := make(chan struct{})
			go func() { defer close(loaded); load.run(t, 250) }()
			eventually(t, 20*time.Second, "creates are acknowledged", func() bool { acked, _ := known.acknowledged(); return acked >= c.after })
			f.breakDisk(s, c.calls, "EIO", filepath.Join(data, c.file))
			<-loaded
			select {
			case <-f.first:
			default:
				t.Fatal("nothing failed")
			}
			if late := load.late.Load(); late > 0 {
				t.Errorf("%d creates were acknowledged after the disk had failed", late)
			}
			if code := s.wait(20 * time.Second); code != exitTryLater {
				t.Errorf("the server ended with %d; want %d", code, exitTryLater)
			}
			f.heal()
			again := serve(t, data)
			known.check(again.categories(key))
			if v := known.verdict(); v != (verdict{}) {
				t.Error(v)
			}
			wantStatus(t, again.create(key, "afterwards"), http.StatusCreated)
		})
	}
}

// TestCheckpointWithoutRoom: what finds no room in the database stays in its log.
func TestCheckpointWithoutRoom(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, data)
	key := newCaller(t, data)
	known := newLedger()
	f := newFaults(t)
	f.breakDisk(s, writes, "ENOSPC", filepath.Join(data, "petcat.db"))
	load := &clients{server: s, key: key, ledger: known}
	load.run(t, 30)
	<-f.first
	f.heal()
	full := s.metric("petcat_store_wal_bytes")
	load.run(t, 20)
	if acked, _ := known.acknowledged(); acked != 8*50 {
		t.Errorf("%d of %d creates were acknowledged", acked, 8*50)
	}
	if size := s.metric("petcat_store_wal_bytes"); size > full+4<<20 {
		t.Errorf("there is room again, and the log grew from %v to %v bytes", full, size)
	}
	known.check(s.categories(key))
	s.kill()
	s = serve(t, data)
	known.check(s.categories(key))
	if v := known.verdict(); v != (verdict{}) {
		t.Error(v)
	}
}

// TestCommandOnABrokenDisk: a command says what is done and what is not.
func TestCommandOnABrokenDisk(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file, calls, errno string
		code               int
		part               string
		done               bool
	}{
		{file: "petcat.db", calls: syncs, errno: "EIO", code: exitFailed, part: "all commits are stored", done: true},
		{file: "petcat.db", calls: writes, errno: "ENOSPC", code: exitDone, done: true},
	} {
		t.Run(c.calls+" of "+c.file+" "+c.errno, func(t *testing.T) {
			t.Parallel()
			data := filepath.Join(t.TempDir(), "data")
			openAccount(t, data, "first", "free")
			code, stdout, said := petcatOnBrokenDisk(t, c.calls, c.errno, filepath.Join(data, c.file),
				"account", "create", "acme", "--plan", "free", "--json", "--data", data)
			if code != c.code {
				t.Errorf("it ended with %d; want %d: %q", code, c.code, said)
			}
			if c.part != "" {
				wantOneSentence(t, said, c.part)
			}
			if got := strings.Contains(stdout, "acme"); got != c.done {
				t.Errorf("it printed %q", stdout)
			}
			if got := strings.Contains(petcatDoes(t, data, "account", "list"), "acme"); got != c.done {
				t.Errorf("the account is there: %v; want %v", got, c.done)
			}
		})
	}
}

// TestStartOnABrokenDisk: a start that fails because of the disk is tried again by
// the supervisor, and says what is to be done.
func TestStartOnABrokenDisk(t *testing.T) {
	t.Parallel()
	killed := filepath.Join(t.TempDir(), "data")
	s := serve(t, killed)
	key := newCaller(t, killed)
	s.mustCreate(key, "dog")
	s.kill()

	const opens = "openat"
	const room, look = "free some space", "check the disk"
	for _, c := range []struct {
		fresh              bool // else what a kill has left
		file, calls, errno string
		part               string
	}{
		{file: "server.lock", calls: writes, errno: "ENOSPC", part: room},
		{file: "server.lock", calls: writes, errno: "EIO", part: look},
		{file: "server.lock", calls: opens, errno: "ENOSPC", part: room},
		{file: "petcat.db", calls: writes, errno: "ENOSPC", part: room},
		{file: "petcat.db", calls: writes, errno: "EIO", part: look},
		{file: "petcat.db", calls: syncs, errno: "EIO", part: look},
		{file: "petcat.db-shm", calls: writes, errno: "ENOSPC", part: room},
		{file: "petcat.db-wal", calls: "pread64", errno: "EIO", part: look},
		{fresh: true, file: "", calls: syncs, errno: "EIO", part: look},
		{fresh: true, file: "..", calls: syncs, errno: "EIO", part: look},
		{fresh: true, file: "petcat.db", calls: writes, errno: "ENOSPC", part: room},
		{fresh: true, file: "petcat.db", calls: syncs, errno: "EIO", part: look},
		{fresh: true, file: "petcat.db-wal", calls: writes, errno: "ENOSPC", part: room},
		{fresh: true, file: "petcat.db-wal", calls: syncs, errno: "EIO", part: look},
	} {
		t.Run(fmt.Sprintf("%s of %q %s fresh=%v", c.calls, c.file, c.errno, c.fresh), func(t *testing.T) {
			t.Parallel()
			data := filepath.Join(t.TempDir(), "above", "data")
			if !c.fresh {
				must(t, os.CopyFS(data, os.DirFS(killed)))
				must(t, os.Chmod(filepath.Join(data, "petcat.db"), 0o600))
				must(t, os.Remove(filepath.Join(data, "petcat.db-shm")))
			}
			code, _, said := petcatOnBrokenDisk(t, c.calls, c.errno, filepath.Join(data, c.file), serveFlags("serve", data, nil)...)
			if code != exitTryLater {
				t.Errorf("it ended with %d; want %d", code, exitTryLater)
			}
			wantOneSentence(t, said, c.part)
			if again := serve(t, data); !c.fresh && len(again.categories(key)) != 1 {
				t.Error("what was acknowledged is not there")
			}
		})
	}
}
