// Package datadir keeps the data directory: the one place on disk where the
// service writes. It makes it (mode 0700, files 0600, whatever the umask),
// checks that it can be written, and guards it with two locks of the kernel, so
// that they vanish with their holder however it dies: one server at a time, and
// one change of the schema at a time.
//
// It refuses to share: a second server gets an [InUseError]. It knows nothing of
// what the files hold. When the directory cannot be used, the [UnusableError]
// says in one sentence what to do.
package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Modes of what is made here: the directory holds hashes of keys, names of
// customers and the audit log, so nobody else on the machine may read it.
const (
	directoryMode fs.FileMode = 0o700
	fileMode      fs.FileMode = 0o600
)

// databaseName is the SQLite database. SQLite gives its -wal and -shm files the
// mode of the database file, which is why it is made here and not by SQLite.
const databaseName = "petcat.db"

// Dir is a data directory that can be written.
type Dir struct{ path string }

// UnusableError says that a directory cannot hold the data.
type UnusableError struct {
	Path  string
	cause error
}

// Error is one sentence that names the remedy.
func (e *UnusableError) Error() string {
	return fmt.Sprintf("the data directory %s cannot be used (%v); let this user write to it, or choose another with --data", e.Path, e.cause)
}

// Unwrap returns what the system said.
func (e *UnusableError) Unwrap() error { return e.cause }

// Open makes the directory when it is missing and checks that files can be made
// in it. It returns an [UnusableError].
func Open(path string) (*Dir, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, &UnusableError{Path: path, cause: err}
	}
	d := &Dir{path: absolute}
	if err := d.prepare(); err != nil {
		return nil, &UnusableError{Path: absolute, cause: reason(err)}
	}
	return d, nil
}

// prepare makes the directory and tries it out. The modes of a directory that
// exists are its owner's choice and stay.
func (d *Dir) prepare() error {
	switch info, err := os.Stat(d.path); {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(d.path, directoryMode); err != nil {
			return err
		}
		if err := os.Chmod(d.path, directoryMode); err != nil {
			return err
		}
	case err != nil:
		return err
	case !info.IsDir():
		return errors.New("it is not a directory")
	}
	// Permission bits do not tell the whole truth (root, read-only mounts,
	// ACLs): only making a file does.
	probe, err := os.CreateTemp(d.path, ".writable-*")
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// reason strips the path from a system error: the sentence names it already.
func reason(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// Path returns the directory, absolute.
func (d *Dir) Path() string { return d.path }

// File returns the path of a file in the directory.
func (d *Dir) File(name string) string { return filepath.Join(d.path, name) }

// Database returns the path of the database file, which is made, empty, when it
// is missing. It returns an [UnusableError].
func (d *Dir) Database() (string, error) {
	path := d.File(databaseName)
	file, err := create(path)
	if err != nil {
		return "", &UnusableError{Path: d.path, cause: err}
	}
	return path, file.Close()
}

// create opens a file for reading and writing, and makes it when it is missing.
func create(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, fileMode)
	if errors.Is(err, fs.ErrExist) {
		return os.OpenFile(path, os.O_RDWR, 0)
	}
	if err != nil {
		return nil, err
	}
	// The umask may have taken bits away.
	if err := file.Chmod(fileMode); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
