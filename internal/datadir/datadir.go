// Package datadir is the data directory: the database file, who may use it, and small files
// beside it.
//
// What identifies the data is the database file, not the directory's name. If petcat.db is a
// link, the lock, the write-ahead log and the free space are those of the file that it leads
// to, so two directories with one database have one server.
package datadir

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gofrs/flock"

	"petcat/internal/openerror"
	"petcat/internal/osfile"
)

const (
	databaseName = "petcat.db"
	// lockSuffix ends the name of the lock's file, which is never removed: a lock on a removed
	// file guards nothing. A lock ends with its process, however that ends.
	lockSuffix = ".lock"
)

// Dir is a data directory that can be written.
type Dir struct {
	path     string // absolute
	database string // the database file, where it really is
}

// maxPath is the longest path of a data directory, in bytes: SQLite opens no file whose path has
// 512, and does not say why.
const maxPath = 480

// Open creates the directory if it is missing and checks that files can be created in it. It
// returns an [openerror.Error].
func Open(path string) (*Dir, error) {
	path, err := filepath.Abs(path)
	if len(path) > maxPath {
		return nil, openerror.Errorf(openerror.Unwritable, nil, "the path of the data directory has %d bytes, and SQLite can open no longer one than %d; choose a shorter one with --data (PETCAT_DATA)", len(path), maxPath)
	}
	if err == nil {
		err = osfile.PrepareDirectory(path)
	}
	d := &Dir{path, filepath.Join(path, databaseName)}
	if file, err := filepath.EvalSymlinks(d.database); err == nil {
		d.database = file
	}
	return d, unusable(path, err)
}

// OpenExisting opens a directory that holds a database. If there is none, it creates nothing,
// and returns an [openerror.Error] of kind NoData.
func OpenExisting(path string) (*Dir, error) {
	path, err := filepath.Abs(path)
	if err == nil {
		_, err = os.Stat(filepath.Join(path, databaseName))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, openerror.Errorf(openerror.NoData, nil, "there is no data in %s; check whether its disk is mounted", path)
	}
	return Open(path)
}

// unusable says that a directory cannot hold the data, if there is a reason.
func unusable(path string, reason error) error {
	if reason == nil {
		return nil
	}
	if e, ok := errors.AsType[*fs.PathError](reason); ok {
		reason = e.Err // the sentence names the path
	}
	kind, remedy := openerror.Unwritable, "give this user write permission"
	switch {
	case osfile.IsFull(reason):
		kind, remedy = openerror.NoRoom, "free some space on its disk and try again"
	case errors.Is(reason, syscall.EIO):
		kind, remedy = openerror.Failing, "check the disk and try again"
	}
	return openerror.Replaceablef(kind, reason, "the data directory %s cannot be used (%v); %s", path, reason, remedy)
}

// Path returns the absolute path of the directory.
func (d *Dir) Path() string { return d.path }

// Room returns how many bytes are left on the disk of the data, and its size.
func (d *Dir) Room() (free, size int64, err error) { return osfile.Room(filepath.Dir(d.database)) }

// Database returns the path of the database file, which is created, empty, if it is missing.
// SQLite gives its other files the mode of this one. It returns an [openerror.Error].
func (d *Dir) Database() (string, error) {
	file, err := os.OpenFile(d.database, os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		err = errors.Join(file.Close(), osfile.Settle(d.database))
	}
	return d.database, unusable(d.path, err)
}

// DraftDatabase returns the draft of the database file, for a restore. It returns an
// [openerror.Error] unless the directory is empty, but for the lock, what a restore that was
// killed has left, and lost+found of a fresh file system.
func (d *Dir) DraftDatabase() (*osfile.Draft, error) {
	entries, err := os.ReadDir(d.path)
	for _, entry := range entries {
		name := entry.Name()
		if left, _ := filepath.Match(osfile.DraftPattern(databaseName), name); left {
			_ = os.Remove(filepath.Join(d.path, name))
		} else if name != "lost+found" && name != databaseName+lockSuffix {
			return nil, openerror.Errorf(openerror.NotEmpty, nil, "the data directory %s already contains %s", d.path, name)
		}
	}
	if err != nil {
		return nil, unusable(d.path, err)
	}
	draft, err := osfile.NewDraft(d.database)
	return draft, unusable(d.path, err)
}

// LockServer makes the caller the one server of the data, until it closes the lock. It does
// not wait: it returns an [openerror.Error] of kind InUse if there is a server.
func (d *Dir) LockServer() (io.Closer, error) {
	lock := flock.New(d.database+lockSuffix, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	taken, err := lock.TryLock()
	if err == nil {
		err = osfile.Settle(lock.Path())
	}
	if err == nil && !taken {
		return nil, openerror.Replaceablef(openerror.InUse, nil, "the data directory %s is in use by another petcat server; stop that one", d.path)
	}
	return lock, unusable(d.path, err)
}
