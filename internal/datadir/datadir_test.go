package datadir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"petcat/internal/openerror"
)

func open(t *testing.T, path string) *Dir {
	t.Helper()
	d, err := Open(path)
	if err != nil {
		t.Fatalf("open %s: %v", path, err)
	}
	return d
}

func wantMode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != want {
		t.Errorf("mode of %s = %o, want %o", path, got, want)
	}
}

func TestModesDoNotDependOnTheUmask(t *testing.T) {
	for _, umask := range []int{0, 0o777} {
		path := filepath.Join(t.TempDir(), "data")
		old := unix.Umask(umask)
		d, err := Open(path)
		if err != nil {
			unix.Umask(old)
			t.Fatalf("open under umask %o: %v", umask, err)
		}
		database, err := d.Database()
		unix.Umask(old)
		if err != nil {
			t.Fatalf("make the database under umask %o: %v", umask, err)
		}
		wantMode(t, path, 0o700)
		wantMode(t, database, 0o600)
	}
}

func TestOpenMakesParents(t *testing.T) {
	d := open(t, filepath.Join(t.TempDir(), "a", "b", "c"))
	wantMode(t, d.path, 0o700)
	left, err := os.ReadDir(d.path)
	if err != nil || len(left) != 0 {
		t.Errorf("a fresh directory holds %v (%v), want nothing", left, err)
	}
}

func TestUnusable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, path string }{
		{"a file", file},
		{"below a file", filepath.Join(file, "data")},
		{"where nothing can be made", "/proc/petcat"}, // even by root
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Open(tt.path)
			e, ok := errors.AsType[*openerror.Error](err)
			if !ok || e.Kind != openerror.Unwritable {
				t.Fatalf("open = %v, want an error of kind %s", err, openerror.Unwritable)
			}
			if !strings.Contains(e.Message, "directory "+tt.path+" cannot") || !strings.Contains(e.Message, "--data") {
				t.Errorf("error %q does not name the path and the remedy", err)
			}
		})
	}
}

func TestOneServer(t *testing.T) {
	d := open(t, t.TempDir())
	first, err := d.LockServer()
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.LockServer()
	e, ok := errors.AsType[*openerror.Error](err)
	if !ok || e.Kind != openerror.InUse {
		t.Fatalf("a second server got %v, want an error of kind %s", err, openerror.InUse)
	}
	if who := fmt.Sprintf("(process %d)", os.Getpid()); !strings.Contains(e.Message, who) {
		t.Errorf("the error %q does not name the server %s", e.Message, who)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	next, err := d.LockServer()
	if err != nil {
		t.Fatalf("after the first server ended: %v", err)
	}
	_ = next.Close()
}

func TestMigrationLockWaits(t *testing.T) {
	d := open(t, t.TempDir())
	first, err := d.LockMigration(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	impatient, cancel := context.WithTimeout(t.Context(), 3*lockPoll)
	defer cancel()
	if _, err := d.LockMigration(impatient); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("while another holds it: %v, want the deadline", err)
	}
	got := make(chan error, 1)
	go func() {
		lock, err := d.LockMigration(t.Context())
		if err == nil {
			err = lock.Close()
		}
		got <- err
	}()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-got:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the lock was free and nobody got it")
	}
}
