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

	"github.com/petcat-api/petcat"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, path string) *Dir {
	t.Helper()
	d, err := Open(path, true)
	must(t, err)
	return d
}

// wantError checks that err contains a text and is temporary or not.
func wantError(t *testing.T, err error, text string, temporary bool) {
	t.Helper()
	e, ok := errors.AsType[*petcat.UnusableError](err)
	if !ok || !strings.Contains(e.Message, text) || e.Temporary != temporary {
		t.Errorf("error %v (%T), want %q, temporary: %t", err, err, text, temporary)
	}
}

func TestUnusableDirectories(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	for name, path := range map[string]string{
		"a file":                            file,
		"inside a file":                     filepath.Join(file, "data"),
		"on a file system without mkdir(2)": "/proc/petcat",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(path, true)
			wantError(t, err, "the data directory "+path+" cannot be used (", false)
		})
	}
}

func TestOneServerForOneDatabaseFile(t *testing.T) {
	d := open(t, t.TempDir())
	database, err := d.Database()
	must(t, err)
	alias := t.TempDir()
	must(t, os.Symlink(database, filepath.Join(alias, "petcat.db")))
	lock, err := d.LockServer()
	must(t, err)
	other := open(t, alias)
	_, err = other.LockServer()
	wantError(t, err, "in use by another petcat server", true)
	if got, err := other.Database(); err != nil || got != database || other.Disk() != d.Disk() {
		t.Errorf("the database is %s, %v; want %s", got, err, database)
	}
	must(t, lock.Close())
	next, err := other.LockServer()
	must(t, err)
	must(t, next.Close())
}

// TestLinkToMissingFile: two servers could lock different files, the link's and the target's.
func TestLinkToMissingFile(t *testing.T) {
	path := t.TempDir()
	must(t, os.Symlink(filepath.Join(t.TempDir(), "petcat.db"), filepath.Join(path, "petcat.db")))
	for _, mayCreate := range []bool{false, true} {
		_, err := Open(path, mayCreate)
		wantError(t, err, "petcat.db is a link to a file that does not exist", false)
	}
}

func TestOpenWithoutCreating(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	_, err := Open(path, false)
	wantError(t, err, "there is no data in "+path, false)
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory was created: %v", err)
	}
	d := open(t, path)
	_, err = Open(path, false)
	wantError(t, err, "there is no data in "+path, false)
	database, err := d.Database()
	must(t, err)
	_, err = Open(path, false) // a first start that was killed, or a failed copy
	wantError(t, err, "there is no data in "+path, false)
	open(t, path)
	must(t, os.WriteFile(database, []byte("data"), 0o600))
	_, err = Open(path, false)
	must(t, err)
	_, err = Open(database, false)
	wantError(t, err, "cannot be used (not a directory)", false)
}

// TestRootRejectsDirectoriesOfOthers: the owner could replace any name in the directory while root
// creates files there.
func TestRootRejectsDirectoriesOfOthers(t *testing.T) {
	name := func(int) string { return "petcat" }
	for _, c := range []struct {
		process, owner int
		rejected       bool
	}{
		{process: 0, owner: 0},
		{process: 0, owner: 998, rejected: true},
		{process: 998, owner: 998},
		{process: 998, owner: 0}, // Kubernetes gives the group of the pod to a volume of root
		{process: 998, owner: 997},
	} {
		err := wrongUser("/var/lib/petcat", c.process, c.owner, name)
		if !c.rejected && err == nil {
			continue
		}
		if !c.rejected {
			t.Errorf("user %d in a directory of %d: %v", c.process, c.owner, err)
		}
		wantError(t, err, "/var/lib/petcat belongs to another user", false)
		wantError(t, err, "sudo -u petcat petcat COMMAND", false)
	}
}

// TestRootDoesNotCreateForOthers runs only as root: other users cannot make a directory of another
// user. A user with that id need not exist.
func TestRootDoesNotCreateForOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can change the owner of a directory")
	}
	path := t.TempDir()
	must(t, os.Chown(path, 4711, 4712))
	for _, directory := range []string{path, filepath.Join(path, "new", "data")} {
		_, err := Open(directory, true)
		wantError(t, err, "sudo -u '#4711' petcat COMMAND", false)
		wantError(t, Prepare(directory), "sudo -u '#4711' petcat COMMAND", false)
	}
	linked := t.TempDir() // of root, but its database is in the other directory
	must(t, os.WriteFile(filepath.Join(path, "petcat.db"), nil, 0o600))
	must(t, os.Symlink(filepath.Join(path, "petcat.db"), filepath.Join(linked, "petcat.db")))
	_, err := Open(linked, true)
	wantError(t, err, path+" belongs to another user", false)
	entries, err := os.ReadDir(path)
	if err != nil || len(entries) != 1 {
		t.Errorf("root created %v, %v", entries, err)
	}
}

// TestFilesOfOthers runs only as root, as above: a command of root may leave a file that the service
// cannot open.
func TestFilesOfOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can change the owner of a file")
	}
	path := t.TempDir()
	must(t, os.Chmod(path, 0o700))
	d := open(t, path)
	database, err := d.Database()
	must(t, err)
	if got := d.Exposed(); got != nil {
		t.Errorf("a new directory: %q", got)
	}
	must(t, os.Chown(database, 4711, 4712))
	want := database + " belongs to another user than the one that runs this command; run as root: chown 0 " + database
	if got := d.Exposed(); len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTemporaryDiskErrors(t *testing.T) {
	for cause, temporary := range map[syscall.Errno]bool{
		syscall.ENOSPC: true, syscall.EDQUOT: true, syscall.EFBIG: true,
		syscall.EIO: true, syscall.EROFS: false, syscall.EACCES: false,
	} {
		err := (&Dir{path: "/data"}).unusable(&fs.PathError{Op: "open", Path: "x", Err: cause})
		wantError(t, err, "the data directory /data cannot be used ("+cause.Error()+"); free space", temporary)
		if !errors.Is(err, cause) {
			t.Errorf("%v has lost its cause", err)
		}
	}
}

func TestDraftOfADatabase(t *testing.T) {
	d := open(t, t.TempDir())
	draft, err := d.DraftDatabase()
	must(t, err)
	for _, suffix := range []string{"-wal", "-journal"} {
		must(t, os.WriteFile(d.database+suffix, nil, 0o600))
		_, err = d.DraftDatabase()
		wantError(t, err, "already contains petcat.db"+suffix, false)
		must(t, os.Remove(d.database+suffix))
	}
	must(t, draft.Keep())
	_, err = d.DraftDatabase()
	wantError(t, err, "already contains petcat.db;", false)
}

// TestDraft: a draft has its name, in the place of another file, when it is kept. One that is not kept
// leaves no files.
func TestDraft(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "directory")
	must(t, Prepare(dir))
	path := filepath.Join(dir, "a")
	for _, text := range []string{"a long text", "short"} {
		d, err := NewDraft(path)
		must(t, err)
		_, err = d.WriteString(text)
		must(t, err)
		if matches, err := filepath.Match(DraftPattern("a"), filepath.Base(filepath.Dir(d.Name()))); err != nil || !matches {
			t.Errorf("the draft is called %s", d.Name())
		}
		if info, err := os.Stat(filepath.Dir(d.Name())); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("others may create a journal beside the draft: %v, %v", info, err)
		}
		must(t, d.Keep())
		other, err := NewDraft(path)
		must(t, err)
		other.Discard()
		entries, err := os.ReadDir(dir)
		must(t, err)
		got, err := os.ReadFile(path)
		must(t, err)
		if len(entries) != 1 || string(got) != text {
			t.Errorf("there are %v, and the file holds %q; want it alone, with %q", entries, got, text)
		}
	}
}
