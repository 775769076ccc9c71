// Package datadir is the data directory: the database file, who may use it, and small files
// beside it.
//
// What identifies the data is the database file, not the directory's name. If petcat.db is a
// link, the locks, the write-ahead log and the free space are those of the file that it leads
// to, so two directories with one database have one server.
//
// A lock ends with its process, however that ends. Lock files are never removed: a lock on a
// removed file guards nothing.
package datadir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"petcat/internal/openerror"
	"petcat/internal/osfile"
)

const (
	databaseName = "petcat.db"
	// lockPoll is how often a lock that another process holds is tried again.
	lockPoll = 10 * time.Millisecond
)

// Dir is a data directory that can be written.
type Dir struct {
	path     string // absolute
	database string // the database file, where it really is
}

// Open creates the directory if it is missing and checks that files can be created in it. It
// returns an [openerror.Error].
func Open(path string) (*Dir, error) {
	absolute, err := filepath.Abs(path)
	if err == nil {
		path, err = absolute, osfile.PrepareDirectory(absolute)
	}
	if err != nil {
		return nil, unusable(path, err)
	}
	d := &Dir{path, filepath.Join(path, databaseName)}
	if file, err := filepath.EvalSymlinks(d.database); err == nil {
		d.database = file
	}
	return d, nil
}

// HasData reports whether a directory holds a database. It creates nothing. It returns an
// [openerror.Error].
func HasData(path string) (bool, error) {
	_, err := os.Stat(filepath.Join(path, databaseName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, unusable(path, err)
	}
	return err == nil, nil
}

// unusable says that a directory cannot hold the data.
func unusable(path string, cause error) *openerror.Error {
	if e, ok := errors.AsType[*fs.PathError](cause); ok {
		cause = e.Err // the sentence names the path
	}
	kind, remedy := openerror.Unwritable, "give this user write permission"
	switch {
	case osfile.IsFull(cause):
		kind, remedy = openerror.NoRoom, "free some space on its disk and try again"
	case errors.Is(cause, syscall.EIO):
		kind, remedy = openerror.Failing, "check the disk and try again"
	}
	return openerror.Replaceablef(kind, cause, "the data directory %s cannot be used (%v); %s", path, cause, remedy)
}

// Path returns the absolute path of the directory.
func (d *Dir) Path() string { return d.path }

// FreeBytes returns how much room there is for the data on its disk.
func (d *Dir) FreeBytes() (int64, error) { return osfile.FreeBytes(filepath.Dir(d.database)) }

// Database returns the path of the database file, which is created, empty, if it is missing.
// SQLite gives its other files the mode of this one. It returns an [openerror.Error].
func (d *Dir) Database() (string, error) {
	file, err := os.OpenFile(d.database, os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		err = errors.Join(file.Close(), osfile.Settle(d.database))
	}
	if err != nil {
		return "", unusable(d.path, err)
	}
	return d.database, nil
}

// DraftDatabase returns the draft of the database file, for a restore. It returns an
// [openerror.Error] unless the directory is empty, but for locks, and lost+found of a fresh
// file system.
func (d *Dir) DraftDatabase() (*osfile.Draft, error) {
	entries, err := os.ReadDir(d.path)
	for _, entry := range entries {
		name := entry.Name()
		if left, _ := filepath.Match(osfile.DraftPattern(databaseName), name); left { // by a restore that was killed
			_ = os.Remove(filepath.Join(d.path, name))
		} else if name != "lost+found" && !strings.HasSuffix(name, ".lock") {
			return nil, openerror.Errorf(openerror.NotEmpty, nil, "the data directory %s already contains %s", d.path, name)
		}
	}
	var draft *osfile.Draft
	if err == nil {
		draft, err = osfile.NewDraft(d.database)
	}
	if err != nil {
		return nil, unusable(d.path, err)
	}
	return draft, nil
}

// lock tries to take a lock of the data.
func (d *Dir) lock(name string) (lock *flock.Flock, taken bool, err error) {
	lock = flock.New(d.database+"."+name+".lock", flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	if taken, err = lock.TryLock(); err == nil {
		err = osfile.Settle(lock.Path())
	}
	if err != nil {
		return nil, false, unusable(d.path, errors.Join(err, lock.Close()))
	}
	return lock, taken, nil
}

// LockServer makes the caller the one server of the data, until it closes the lock. It does
// not wait: it returns an [openerror.Error] of kind InUse if there is a server.
func (d *Dir) LockServer() (io.Closer, error) {
	lock, taken, err := d.lock("server")
	if err == nil && !taken {
		err = openerror.Replaceablef(openerror.InUse, nil, "the data directory %s is in use by another petcat server; stop that one", d.path)
	}
	return lock, err
}

// LockMigration lets one process at a time read the schema's version and change the schema.
// It waits for others, which takes milliseconds.
func (d *Dir) LockMigration(ctx context.Context) (io.Closer, error) {
	lock, taken, err := d.lock("migration")
	if err == nil && !taken {
		if _, err = lock.TryLockContext(ctx, lockPoll); err != nil {
			err = fmt.Errorf("wait for another process that changes the schema in %s: %w", d.path, err)
		}
	}
	return lock, err
}
