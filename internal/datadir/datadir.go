// Package datadir manages the data directory, the only place on disk where the
// service writes. It creates it (mode 0700, files 0600, whatever the umask), checks
// that it can be written, and protects it with two kernel locks, which are released
// when their holder dies: one server at a time, and one change of the schema at a
// time.
//
// A second server gets an error. The package knows nothing of what the files
// contain. When the directory cannot be used, an [openerror.Error] says in one
// sentence what to do.
package datadir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"petcat/internal/openerror"
	"petcat/internal/osfile"
)

// fileMode is that of what is made here: the directory holds hashes of keys, names of
// customers and the audit log, so nobody else on the machine may read it.
const fileMode fs.FileMode = 0o600

// databaseName is the SQLite database. SQLite gives its -wal and -shm files the
// mode of the database file, which is why it is made here and not by SQLite.
const databaseName = "petcat.db"

// Dir is a data directory that can be written.
type Dir struct{ path string }

// unusable says that a directory cannot hold the data: the path is in the message.
func unusable(path string, cause error) *openerror.Error {
	cause = reason(cause)
	switch {
	case noRoom(cause):
		return openerror.Replaceablef(openerror.NoRoom, cause, "the disk of the data directory %s is full (%v); free some space and try again", path, cause)
	case failing(cause):
		return openerror.Replaceablef(openerror.Failing, cause, "the disk of the data directory %s fails (%v); check the disk and try again", path, cause)
	default:
		return openerror.Replaceablef(openerror.Unwritable, cause, "the data directory %s cannot be used (%v); give this user write permission", path, cause)
	}
}

// Open makes the directory when it is missing and checks that files can be made
// in it. It returns an [openerror.Error].
func Open(path string) (*Dir, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, unusable(path, err)
	}
	d := &Dir{path: absolute}
	if err := osfile.PrepareDirectory(d.path); err != nil {
		return nil, unusable(absolute, err)
	}
	return d, nil
}

// reason strips the path from a system error: the sentence names it already.
func reason(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// Path returns the absolute path of the directory.
func (d *Dir) Path() string { return d.path }

// File returns the path of a file in the directory.
func (d *Dir) File(name string) string { return filepath.Join(d.path, name) }

// Database returns the path of the database file, which is made, empty, when it
// is missing. It returns an [openerror.Error].
func (d *Dir) Database() (string, error) {
	path := d.File(databaseName)
	file, err := create(path)
	if err != nil {
		return "", unusable(d.path, err)
	}
	return path, file.Close()
}

// create opens a file for reading and writing, and makes it when it is missing: so
// that it outlasts a power cut, and that the directory's owner can use it.
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
	return file, osfile.SyncDirectory(filepath.Dir(path))
}

// prepareNew gives a file that was made just now its mode and its owner.
func prepareNew(file *os.File) error {
	// The umask may have taken bits away.
	return errors.Join(file.Chmod(fileMode), giveToOwner(file))
}

// WriteFile puts a small file into the directory, in the place of what was there:
// after a power cut the one or the other is there, whole. It returns an
// [openerror.Error].
func (d *Dir) WriteFile(name, text string) error {
	draft, err := d.draft(name)
	if err == nil {
		defer draft.Discard()
		if _, err = draft.WriteString(text); err == nil {
			err = draft.Keep(true)
		}
	}
	if err != nil {
		return unusable(d.path, err)
	}
	return nil
}

// DraftDatabase returns the draft of the database file, for a restore. It returns an
// [openerror.Error] unless the directory is empty, but for locks, and lost+found of a fresh
// file system.
func (d *Dir) DraftDatabase() (*osfile.Draft, error) {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return nil, unusable(d.path, err)
	}
	for _, entry := range entries {
		name := entry.Name()
		if left, _ := filepath.Match(osfile.DraftPattern(databaseName), name); left { // by a restore that was killed
			_ = os.Remove(d.File(name))
		} else if !slices.Contains([]string{serverLockName, migrationLockName, turnLockName, "lost+found"}, name) {
			return nil, openerror.Errorf(openerror.NotEmpty, nil, "the data directory %s already contains %s", d.path, name)
		}
	}
	draft, err := d.draft(databaseName)
	if err != nil {
		return nil, unusable(d.path, err)
	}
	return draft, nil
}

// draft makes the draft of a file that belongs to the directory's owner.
func (d *Dir) draft(name string) (*osfile.Draft, error) {
	draft, err := osfile.NewDraft(d.File(name))
	if err != nil {
		return nil, err
	}
	if err := prepareNew(draft.File); err != nil {
		draft.Discard()
		return nil, err
	}
	return draft, nil
}

// FreeBytes returns how much room there is for the data on its disk.
func (d *Dir) FreeBytes() (int64, error) { return osfile.FreeBytes(d.path) }
