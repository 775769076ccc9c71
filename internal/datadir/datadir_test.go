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

func TestUnusable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, path string }{
		{"a file", file},
		{"below a file", filepath.Join(file, "data")},
		{"where nothing can be made", "/proc/petcat"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Open(tt.path)
			e, ok := errors.AsType[*openerror.Error](err)
			if !ok || e.Kind != openerror.Unwritable {
				t.Fatalf("open = %v, want an error of kind %s", err, openerror.Unwritable)
			}
			if !strings.Contains(e.Message, "directory "+tt.path+" cannot") || !e.Replaceable {
				t.Errorf("error %q does not name the path, or no other directory would do", err)
			}
		})
	}
}

// TestLongPath: SQLite opens no file with a long path, and does not say why.
func TestLongPath(t *testing.T) {
	part := strings.Repeat("x", 100)
	_, err := Open(filepath.Join(t.TempDir(), part, part, part, part, part))
	if err == nil || !strings.Contains(err.Error(), "choose a shorter one") {
		t.Errorf("open = %v, want the remedy", err)
	}
}

// TestOneServer: what identifies the data is the file, whatever leads to it.
func TestOneServer(t *testing.T) {
	d := open(t, t.TempDir())
	database, err := d.Database()
	if err != nil {
		t.Fatal(err)
	}
	alias := t.TempDir()
	if err := os.Symlink(database, filepath.Join(alias, databaseName)); err != nil {
		t.Skip(err) // Windows lets only some users make links
	}
	lock, err := d.LockServer()
	if err != nil {
		t.Fatal(err)
	}
	other := open(t, alias)
	_, err = other.LockServer()
	if e, ok := errors.AsType[*openerror.Error](err); !ok || e.Kind != openerror.InUse || !e.Temporary() {
		t.Errorf("a second server got %v", err)
	}
	if got, err := other.Database(); err != nil || got != database {
		t.Errorf("the database is %s, %v; want %s", got, err, database)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	next, err := other.LockServer()
	if err != nil {
		t.Fatalf("after the first server ended: %v", err)
	}
	_ = next.Close()
}

func TestOpenExisting(t *testing.T) {
	wantKind := func(path string, want openerror.Kind) {
		_, err := OpenExisting(path)
		if e, ok := errors.AsType[*openerror.Error](err); !ok || e.Kind != want {
			t.Errorf("open %s: %v, want an error of kind %s", path, err, want)
		}
	}
	path := filepath.Join(t.TempDir(), "data")
	wantKind(path, openerror.NoData)
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory was made: %v", err)
	}
	d := open(t, path)
	wantKind(path, openerror.NoData)
	database, err := d.Database()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenExisting(path); err != nil {
		t.Error(err)
	}
	wantKind(database, openerror.Unwritable)
}

// TestFilesBelongToTheOwner: the service runs as the directory's owner, and has to open what
// root's commands made.
func TestFilesBelongToTheOwner(t *testing.T) {
	path := t.TempDir()
	if os.Geteuid() == 0 { // nobody else can make files for others
		if err := os.Chown(path, 4711, 4712); err != nil {
			t.Fatal(err)
		}
	}
	d := open(t, path)
	_, err := d.Database()
	lock, lockErr := d.LockServer()
	if err := errors.Join(err, lockErr); err != nil {
		t.Fatal(err)
	}
	if err := lock.Close(); err != nil {
		t.Error(err)
	}
	want, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(path)
	if err != nil || len(files) != 2 {
		t.Fatalf("there are %v, %v; want two files", files, err)
	}
	for _, file := range files {
		info, err := file.Info()
		if err != nil || info.Mode() != 0o600 || !sameOwner(info, want) {
			t.Errorf("%s: %v, %v", file.Name(), info, err)
		}
	}
}

func sameOwner(a, b fs.FileInfo) bool {
	x, y := a.Sys().(*syscall.Stat_t), b.Sys().(*syscall.Stat_t)
	return x.Uid == y.Uid && x.Gid == y.Gid
}

func TestDiskThatMayWorkLater(t *testing.T) {
	for _, tt := range []struct {
		cause error
		part  string
		later bool
	}{
		{syscall.ENOSPC, "free some space", true},
		{syscall.EDQUOT, "free some space", true},
		{syscall.EFBIG, "free some space", true},
		{syscall.EIO, "check the disk", true},
		{syscall.EROFS, "give this user write permission", false},
	} {
		err := unusable("/data", &fs.PathError{Op: "open", Path: "x", Err: tt.cause})
		if e, ok := errors.AsType[*openerror.Error](err); !ok || e.Temporary() != tt.later || !strings.Contains(err.Error(), tt.part) || !errors.Is(err, tt.cause) {
			t.Errorf("%v: %#v", tt.cause, err)
		}
	}
}
