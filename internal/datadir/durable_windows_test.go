package datadir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/windows"

	"petcat/internal/openerror"
)

// cannotBeMade returns a directory that nobody can make: Windows has no such names.
func cannotBeMade(t *testing.T) string { return filepath.Join(t.TempDir(), "a?b") }

func TestDiskThatMayWorkLater(t *testing.T) {
	for _, tt := range []struct {
		cause error
		part  string
		later bool
	}{
		{windows.ERROR_DISK_FULL, "free some space", true},
		{windows.ERROR_IO_DEVICE, "check the disk", true},
		{windows.ERROR_ACCESS_DENIED, "give this user write permission", false},
	} {
		err := unusable(`C:\data`, &fs.PathError{Op: "open", Path: "x", Err: tt.cause})
		if err.Temporary() != tt.later || !strings.Contains(err.Error(), tt.part) || !errors.Is(err, tt.cause) {
			t.Errorf("%v: temporary %v, %q", tt.cause, err.Temporary(), err)
		}
	}
}

// TestLockedFileCanBeRead: on Windows a lock keeps others from reading what is
// locked, and they have to learn which process holds it.
func TestLockedFileCanBeRead(t *testing.T) {
	d := open(t, t.TempDir())
	lock, err := d.LockServer()
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	text, err := os.ReadFile(d.File(serverLockName))
	if want := strconv.Itoa(os.Getpid()) + "\n"; err != nil || string(text) != want {
		t.Errorf("the file of the lock holds %q, %v; want %q", text, err, want)
	}
}

func TestReadOnlyDatabaseIsRefused(t *testing.T) {
	d := open(t, t.TempDir())
	path, err := d.Database()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(path, fileMode) }) // else it cannot be removed
	_, err = d.Database()
	if e, ok := errors.AsType[*openerror.Error](err); !ok || e.Kind != openerror.Unwritable {
		t.Errorf("a database that is read-only: %v, want an error of kind %s", err, openerror.Unwritable)
	}
}
