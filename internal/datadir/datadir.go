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
	switch {
	case noRoom(e.cause):
		return fmt.Sprintf("there is no room on the disk of the data directory %s (%v); make room and try again, or choose another directory with --data", e.Path, e.cause)
	case failing(e.cause):
		return fmt.Sprintf("the disk of the data directory %s does not work (%v); look at the disk and try again, or choose another directory with --data", e.Path, e.cause)
	}
	return fmt.Sprintf("the data directory %s cannot be used (%v); let this user write to it, or choose another with --data", e.Path, e.cause)
}

// Unwrap returns what the system said.
func (e *UnusableError) Unwrap() error { return e.cause }

// Temporary reports whether the same directory may be of use later: its disk is
// full, or does not work.
func (e *UnusableError) Temporary() bool { return noRoom(e.cause) || failing(e.cause) }

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
		if err := makeDirectory(d.path); err != nil {
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

// makeDirectory makes a directory and those above it that are missing, so that they
// outlast a power cut.
func makeDirectory(path string) error {
	parent := filepath.Dir(path)
	if _, err := os.Stat(parent); errors.Is(err, fs.ErrNotExist) {
		if err := makeDirectory(parent); err != nil {
			return err
		}
	}
	// Another process may be about to make the same one, and has perhaps not come
	// to the sync yet.
	if err := os.Mkdir(path, directoryMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDirectory(parent)
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
		return "", &UnusableError{Path: d.path, cause: reason(err)}
	}
	return path, file.Close()
}

// create opens a file for reading and writing, and makes it when it is missing: so
// that it outlasts a power cut, and that who owns the directory can use it.
func create(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, fileMode)
	if errors.Is(err, fs.ErrExist) {
		return os.OpenFile(path, os.O_RDWR, 0)
	}
	if err != nil {
		return nil, err
	}
	if err := prepareNew(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, syncDirectory(filepath.Dir(path))
}

// prepareNew gives a file that was made just now its mode and its owner.
func prepareNew(file *os.File) error {
	// The umask may have taken bits away.
	return errors.Join(file.Chmod(fileMode), giveToOwner(file))
}

// WriteFile puts a small file into the directory, in the place of what was there:
// after a power cut the one or the other is there, whole. It returns an
// [UnusableError].
func (d *Dir) WriteFile(name, text string) error {
	if err := d.writeFile(name, text); err != nil {
		return &UnusableError{Path: d.path, cause: reason(err)}
	}
	return nil
}

func (d *Dir) writeFile(name, text string) (err error) {
	file, err := os.CreateTemp(d.path, "."+name+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	_, err = file.WriteString(text)
	if err = errors.Join(err, prepareNew(file), file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), d.File(name)); err != nil {
		return err
	}
	return syncDirectory(d.path)
}
