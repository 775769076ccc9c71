//go:build !windows

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
	driversqlite "modernc.org/sqlite"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/datadir"
	"github.com/petcat-api/petcat/internal/store"
	"github.com/petcat-api/petcat/internal/storetest"
)

// childVariable makes the test binary run as a failing process: its value is the role and the data
// directory.
const childVariable = "PETCAT_SQLITE_TEST_CHILD"

func TestMain(m *testing.M) {
	if role, dir, ok := strings.Cut(os.Getenv(childVariable), ":"); ok {
		if err := roles()[role](dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func roles() map[string]func(dir string) error {
	return map[string]func(string) error{
		"disk error":          func(dir string) error { return diskError(dir, false) },
		"disk error early":    func(dir string) error { return diskError(dir, true) },
		"size limit":          sizeLimit,
		"dies before commit":  func(dir string) error { return dies(dir, false) },
		"dies after a commit": func(dir string) error { return dies(dir, true) },
	}
}

// child runs the test binary in a role.
func child(t *testing.T, role, dir string) (output string, err error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Env = append(os.Environ(), childVariable+"="+role+":"+dir)
	out, err := command.CombinedOutput()
	return string(out), err
}

func childStore(dir string, committed func([]petcat.RevisedCategory)) (*stored, error) {
	d, err := datadir.Open(dir, true)
	if err != nil {
		return nil, err
	}
	c := clock.NewSystem()
	db, err := Open(context.Background(), Options{
		Dir:         d,
		Environment: petcat.Production,
		Clock:       c,
		Serving:     true,
	})
	if err != nil {
		return nil, err
	}
	db.OnCategoriesCommitted(committed)
	return &stored{store.New(db, c), db}, nil
}

// dies creates a category with an idempotency key, and is killed before the commit, or after it and
// before the response.
func dies(dir string, committed bool) error {
	kill := func() { _ = unix.Kill(os.Getpid(), unix.SIGKILL); select {} }
	s, err := childStore(dir, func([]petcat.RevisedCategory) { kill() })
	if err != nil {
		return err
	}
	if !committed {
		hook := func() int32 { kill(); return 0 }
		c, err := s.writes.Conn(context.Background())
		if err == nil {
			err = c.Raw(func(raw any) error { raw.(driversqlite.HookRegisterer).RegisterCommitHook(hook); return nil })
		}
		if err := errors.Join(err, c.Close()); err != nil {
			return err
		}
	}
	err = childCreate(s, "Dogs", "k")
	return fmt.Errorf("the process is alive: %w", err)
}

func childCreate(s *stored, name string, key petcat.IdempotencyKey) error {
	n, err := petcat.ParseNewCategory(&name, nil)
	if err != nil {
		return err
	}
	_, err = s.CreateCategory(context.Background(), petcat.CreateCategory{
		Account:        1,
		New:            n,
		IdempotencyKey: key,
	})
	return err
}

// TestKilledAroundCommit: after a kill, only committed categories exist, and a retry with the same key
// creates the category once.
func TestKilledAroundCommit(t *testing.T) {
	for role, want := range map[string][]string{"dies before commit": nil, "dies after a commit": {"Dogs"}} {
		t.Run(role, func(t *testing.T) {
			dir := t.TempDir()
			out, err := child(t, role, dir)
			exit, ok := errors.AsType[*exec.ExitError](err)
			if !ok || exit.Sys().(interface{ Signal() unix.Signal }).Signal() != unix.SIGKILL {
				t.Fatalf("the process was not killed: %v: %s", err, out)
			}
			s := openAt(t, dir, Options{Serving: true})
			defer closeNow(t, s)
			wantNames(t, s, want...)
			repeated, err := tryCreate(t.Context(), t, s, "Dogs", "k")
			if err != nil || repeated.Category.ID != 1 || repeated.Replayed != (want != nil) {
				t.Errorf("the retry: %+v, %v", repeated, err)
			}
			wantNames(t, s, "Dogs")
		})
	}
}

// reopenLog changes the mode of this process's open files of the write-ahead log.
func reopenLog(log string, mode int) error {
	with, err := unix.Open(log, mode, 0)
	if err != nil {
		return err
	}
	var want unix.Stat_t
	if err := unix.Stat(log, &want); err != nil {
		return err
	}
	for fd := 3; fd < 1000; fd++ {
		var got unix.Stat_t
		if fd == with || unix.Fstat(fd, &got) != nil || got.Dev != want.Dev || got.Ino != want.Ino {
			continue
		}
		if err := unix.Dup2(with, fd); err != nil {
			return err
		}
	}
	return nil
}

// diskError makes every write to the log fail with an I/O error: its descriptors cannot write.
func diskError(dir string, early bool) error {
	s, err := childStore(dir, nil)
	if err != nil {
		return err
	}
	if err := childCreate(s, "acknowledged", ""); err != nil {
		return err
	}
	log := s.path + "-wal"
	if err := reopenLog(log, unix.O_RDONLY); err != nil {
		return err
	}
	for attempt := range 2 {
		var err error
		if early { // before the commit: this does not fit into memory
			err = s.Change(context.Background(), "fill", func(tx *store.Tx) error {
				_, err := tx.Exec(`INSERT INTO meta VALUES ('lost', hex(randomblob(10000000)))`)
				return err
			})
		} else {
			err = childCreate(s, "lost", "k")
		}
		unknown := errors.Is(err, petcat.ErrOutcomeUnknown)
		if petcat.CodeOf(err) != petcat.CodeServiceUnavailable || attempt == 0 && !unknown {
			return fmt.Errorf("create on a broken disk: %w, want an unknown outcome", err)
		}
		select {
		case <-s.Failed():
		default:
			return fmt.Errorf("the store did not stop writing")
		}
	}
	if err := reopenLog(log, unix.O_RDWR); err != nil {
		return err
	}
	if err := childCreate(s, "too late", ""); petcat.CodeOf(err) != petcat.CodeServiceUnavailable {
		return fmt.Errorf("create after the disk works again: %w", err)
	}
	read := 0
	count := func(petcat.RevisedCategory) error { read++; return nil }
	if err := s.EachCategory(context.Background(), count); err != nil {
		return err
	}
	if read != 1 {
		return fmt.Errorf("%d categories can be read, want 1", read)
	}
	if err := s.Close(); err != nil {
		return err
	}
	if s.WALBytes() == 0 {
		return fmt.Errorf("closing after a disk error wrote to the disk")
	}
	fmt.Println("as expected")
	return nil
}

// sizeLimit makes every write beyond the current size of the log fail, by a limit on the size of this
// process's files, and then removes the limit.
func sizeLimit(dir string) error {
	s, err := childStore(dir, nil)
	if err != nil {
		return err
	}
	if err := childCreate(s, "acknowledged", ""); err != nil {
		return err
	}
	signal.Ignore(unix.SIGXFSZ)
	limit := unix.Rlimit{Cur: uint64(s.WALBytes()), Max: unix.RLIM_INFINITY}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	err = childCreate(s, "rejected", "k")
	if petcat.CodeOf(err) != petcat.CodeServiceUnavailable || errors.Is(err, petcat.ErrOutcomeUnknown) {
		return fmt.Errorf("create on a full disk: %w, want no effect", err)
	}
	if s.Err() != nil || !s.rejected.Load() {
		return fmt.Errorf("after a create on a full disk: %w", s.Err())
	}
	limit.Cur = unix.RLIM_INFINITY
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	if err := childCreate(s, "afterwards", "k"); err != nil || s.rejected.Load() {
		return fmt.Errorf("create after the limit: %w", err)
	}
	fmt.Println("as expected")
	return s.Close()
}

func TestFileSizeLimitIsFullDisk(t *testing.T) {
	dir := t.TempDir()
	out, err := child(t, "size limit", dir)
	if err != nil || !strings.Contains(out, "as expected") {
		t.Fatalf("%v: %s", err, out)
	}
	s := openAt(t, dir, Options{Serving: true})
	defer closeNow(t, s)
	wantNames(t, s, "acknowledged", "afterwards")
}

func TestDiskErrorStopsWrites(t *testing.T) {
	for _, role := range []string{"disk error", "disk error early"} {
		t.Run(role, func(t *testing.T) {
			dir := t.TempDir()
			out, err := child(t, role, dir)
			if err != nil || !strings.Contains(out, "as expected") {
				t.Fatalf("%v: %s", err, out)
			}
			s := openAt(t, dir, Options{Serving: true})
			defer closeNow(t, s)
			if got := storetest.Names(t, s); len(got) == 0 || got[0] != "acknowledged" {
				t.Errorf("after the next start the categories are %q", got)
			}
			create(t, s, "next")
		})
	}
}
