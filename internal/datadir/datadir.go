// Package datadir is the data directory of a SQLite deployment: its database file and the lock
// of its server. It also writes backup files, which appear under their name when they are complete and on
// disk.
//
// The database file identifies the data. If petcat.db is a link, the lock is next to the target, so two
// directories with one database have one server.
package datadir

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/gofrs/flock"

	"github.com/petcat-api/petcat"
)

// Dir is a writable data directory.
type Dir struct {
	path     string
	database string // the database file, with links resolved
}

// isLink reports whether a path is a symbolic link. A file that another process has just created is
// not.
func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// Open opens a directory and checks that it is writable. It creates a missing one if mayCreate
// is true; otherwise the directory must contain a database. It returns a [petcat.UnusableError].
func Open(path string, mayCreate bool) (*Dir, error) {
	path, err := filepath.Abs(path)
	d := &Dir{path, filepath.Join(path, "petcat.db")}
	if err := CheckUser(path); err != nil {
		return nil, err
	}
	file, missing := os.Stat(d.database)
	gone := errors.Is(missing, fs.ErrNotExist)
	if target, err := filepath.EvalSymlinks(d.database); err == nil {
		d.database = target
	} else if gone && isLink(d.database) { // the lock would be next to the link
		return nil, petcat.Unusablef(nil,
			"%s is a link to a file that does not exist; check whether the file's disk is mounted, "+
				"or remove the link",
			d.database)
	}
	if err := CheckUser(filepath.Dir(d.database)); err != nil {
		return nil, err
	}
	// A copy to a full disk leaves an empty file, and so does a first start that was killed.
	if !mayCreate && (gone || missing == nil && file.Size() == 0) {
		return nil, petcat.Unusablef(nil,
			"there is no data in %s; check that its disk is mounted and its petcat.db is not empty, "+
				"give its location with --data (PETCAT_DATA) or --database (PETCAT_DATABASE), "+
				"or create a new deployment there with petcat serve or petcat init",
			path)
	}
	return d, d.unusable(errors.Join(err, Prepare(path)))
}

// unusable adds to an error of the system which directory cannot be used, and what to do.
func (d *Dir) unusable(err error) error {
	if _, done := errors.AsType[*petcat.UnusableError](err); done || err == nil {
		return err
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err // the message contains the path
	}
	e := petcat.Unusablef(err,
		"the data directory %s cannot be used (%v); free space on its disk, give this user write permission, "+
			"or choose another directory with --data",
		d.path, err)
	e.Temporary = IsFull(err) || errors.Is(err, syscall.EIO)
	return e
}

// Disk returns the directory of the database file, for [Room].
func (d *Dir) Disk() string { return filepath.Dir(d.database) }

// Database returns the path of the database file. It creates a missing one, empty; SQLite gives
// its other files the same mode. It returns a [petcat.UnusableError].
func (d *Dir) Database() (string, error) {
	file, err := os.OpenFile(d.database, os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		err = errors.Join(file.Close(), syncDirectory(filepath.Dir(d.database)))
	}
	return d.database, d.unusable(err)
}

// DraftDatabase returns a draft of the database file, for a restore. It returns a
// [petcat.UnusableError] if there is a database, or a log or journal, which SQLite would apply to the
// new one.
func (d *Dir) DraftDatabase() (*Draft, error) {
	for _, file := range []string{d.database, d.database + "-wal", d.database + "-journal"} {
		if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
			return nil, petcat.Unusablef(err,
				"the data directory %s already contains %s; choose a new data directory (--data) or an empty "+
					"database (--database)",
				d.path, filepath.Base(file))
		}
	}
	draft, err := NewDraft(d.database)
	return draft, d.unusable(err)
}

// LockServer makes the caller the only server of the data, until it closes the lock or exits. It
// returns a temporary [petcat.UnusableError] if there is another server. The lock's file is never
// removed, because a lock on a removed file does not exclude other processes.
func (d *Dir) LockServer() (io.Closer, error) {
	lock := flock.New(d.database + ".lock")
	locked, err := lock.TryLock()
	err = errors.Join(err, syncDirectory(filepath.Dir(d.database)))
	if err == nil && !locked {
		return nil, petcat.TemporarilyUnusablef(nil,
			"the data directory %s is in use by another petcat server; "+
				"stop that one, or choose another directory with --data",
			d.path)
	}
	return lock, d.unusable(err)
}

// Prepare creates a directory with the mode 0700, or checks that an existing one is writable.
// It returns an error of [CheckUser].
func Prepare(path string) error {
	if err := CheckUser(path); err != nil {
		return err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return err
		}
		return syncDirectory(filepath.Dir(path))
	}
	// Permission bits are not enough to decide (root, read-only mounts, ACLs).
	probe, err := NewDraft(filepath.Join(path, "writable"))
	if err == nil {
		probe.Discard()
	}
	return err
}

// CheckWritable is [Prepare] for a directory that is not created: if it is missing, its nearest existing
// parent must be writable.
func CheckWritable(path string) error {
	path, err := filepath.Abs(path)
	for err == nil {
		if _, missing := os.Stat(path); !errors.Is(missing, fs.ErrNotExist) || filepath.Dir(path) == path {
			return Prepare(path)
		}
		path = filepath.Dir(path)
	}
	return err
}

// CheckUser returns a [petcat.UnusableError] if this process is root and a directory belongs to
// another user, who could replace any name in it while root creates files there. For a missing
// directory, it checks the one in which it would be created.
func CheckUser(path string) error {
	owner, err := ownerOf(path)
	for errors.Is(err, fs.ErrNotExist) && filepath.Dir(path) != path {
		path = filepath.Dir(path)
		owner, err = ownerOf(path)
	}
	if err != nil {
		return nil //nolint:nilerr // using the directory fails with a better message
	}
	return wrongUser(path, os.Geteuid(), owner, userName)
}

// wrongUser is the decision of [CheckUser], with the ids of the process and of the directory's owner.
func wrongUser(path string, process, owner int, name func(id int) string) error {
	if process != 0 || owner == 0 {
		return nil
	}
	return petcat.Unusablef(nil,
		"%s belongs to another user, so root must not use it; run the command as that user, with --data, "+
			"because sudo clears PETCAT_DATA: sudo -u %s petcat COMMAND",
		path, name(owner))
}

// userName returns the name of a user for sudo -u, or its quoted #ID.
func userName(id int) string {
	if u, err := user.LookupId(strconv.Itoa(id)); err == nil {
		return u.Username
	}
	return "'#" + strconv.Itoa(id) + "'"
}

// IsFull reports whether an error means that there is no room: on the disk, within a quota, or
// within the maximum size of a file.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// Draft is a file that gets its name when it is complete and on disk. Until then it is in a private
// directory next to its name, see [DraftPattern]: SQLite looks for a file's journal by name, so other
// users must not be able to create files next to it. The caller must call Discard at the end.
type Draft struct {
	*os.File

	directory string // private
	path      string
}

// DraftPattern returns a pattern for [filepath.Match] that matches the names of the directories of
// drafts of a file. A process that is killed while it writes a draft leaves its directory.
func DraftPattern(name string) string { return "." + name + ".*" }

// NewDraft creates the draft of a file, with the mode 0600.
func NewDraft(path string) (*Draft, error) {
	name := filepath.Base(path)
	directory, err := os.MkdirTemp(filepath.Dir(path), DraftPattern(name))
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(directory, name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, errors.Join(err, os.Remove(directory))
	}
	return &Draft{file, directory, path}, nil
}

// NewTemporary creates a draft in the directory for temporary files, which is never kept.
func NewTemporary() (*Draft, error) { return NewDraft(filepath.Join(os.TempDir(), "petcat.backup")) }

// Keep syncs and closes the file and gives it its name. It replaces an existing file.
func (d *Draft) Keep() error {
	err := errors.Join(d.Sync(), d.Close())
	if err == nil {
		err = os.Rename(d.Name(), d.path)
	}
	if err == nil {
		err = errors.Join(os.Remove(d.directory), syncDirectory(filepath.Dir(d.path)))
	}
	return err
}

// Discard removes a file that was not kept.
func (d *Draft) Discard() {
	_ = d.Close() // it may be closed already
	_ = os.RemoveAll(d.directory)
}
