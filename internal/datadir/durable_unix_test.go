//go:build !windows

package datadir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// owner returns who owns a file.
func owner(t *testing.T, path string) (uid, gid uint32) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	s := info.Sys().(*syscall.Stat_t)
	return s.Uid, s.Gid
}

// TestRootMakesFilesForTheOwner: the service runs as the directory's owner, and
// has to open what root's commands made.
func TestRootMakesFilesForTheOwner(t *testing.T) {
	path := t.TempDir()
	uid, gid := owner(t, path)
	if os.Geteuid() == 0 { // nobody else can make files for others
		uid, gid = 4711, 4712
		if err := os.Chown(path, int(uid), int(gid)); err != nil {
			t.Fatal(err)
		}
	}
	d := open(t, path)
	if _, err := d.Database(); err != nil {
		t.Fatal(err)
	}
	lock, err := d.LockServer()
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	migration, err := d.LockMigration(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer migration.Close()
	turn, err := d.Turn()
	if err != nil {
		t.Fatal(err)
	}
	defer turn.Close()
	if err := d.WriteFile("note", "text"); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(path)
	if err != nil || len(files) != 5 {
		t.Fatalf("there are %v, %v; want five files", files, err)
	}
	for _, file := range files {
		if u, g := owner(t, d.File(file.Name())); u != uid || g != gid {
			t.Errorf("%s belongs to %d:%d; want %d:%d", file.Name(), u, g, uid, gid)
		}
		wantMode(t, d.File(file.Name()), 0o600)
	}
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
		wantMode(t, database, fileMode)
	}
}

func TestDiskThatMayWorkLater(t *testing.T) {
	for _, tt := range []struct {
		cause error
		part  string
		later bool
	}{
		{unix.ENOSPC, "free some space", true},
		{unix.EDQUOT, "free some space", true},
		{unix.EIO, "check the disk", true},
		{unix.EROFS, "give this user write permission", false},
	} {
		err := unusable("/data", &fs.PathError{Op: "open", Path: "x", Err: tt.cause})
		if err.Temporary() != tt.later || !strings.Contains(err.Error(), tt.part) || !errors.Is(err, tt.cause) {
			t.Errorf("%v: temporary %v, %q", tt.cause, err.Temporary(), err)
		}
	}
}
