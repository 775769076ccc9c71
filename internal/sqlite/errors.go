package sqlite

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	driversqlite "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/datadir"
	"github.com/petcat-api/petcat/internal/store"
)

// errUncertain means that the file under the database's name may lack commits.
var errUncertain = errors.New("commits may be lost")

// errLogRemoved means that the write-ahead log was removed. Its commits are still in the open file,
// and closing moves them to the database.
var errLogRemoved = fmt.Errorf("the write-ahead log was removed or replaced while it was in use: %w", errUncertain)

// kind is the cause of an error of the file.
type kind int

const (
	statement  kind = iota // only the statement is wrong
	noRoom                 // there is no room to write
	locked                 // another process holds its lock
	unwritable             // it cannot be opened or written
	damaged                // it is not a database; writing must stop
	failing                // the disk does not work; writing must stop
)

// kindOf classifies errors by their numbers, never by their text.
func kindOf(err error) kind {
	code := 0
	if e, ok := errors.AsType[*driversqlite.Error](err); ok {
		code = e.Code()
	}
	switch {
	case errors.Is(err, errUncertain), errors.Is(err, driver.ErrBadConn), code == lib.SQLITE_READONLY_DBMOVED:
		return failing
	case datadir.IsFull(err):
		return noRoom
	}
	switch code & 0xff {
	case lib.SQLITE_FULL:
		return noRoom
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_PROTOCOL:
		return locked
	case lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN, lib.SQLITE_PERM, lib.SQLITE_NOMEM, lib.SQLITE_INTERRUPT:
		return unwritable
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return damaged
	case lib.SQLITE_IOERR:
		return failing
	default:
		return statement
	}
}

// stops reports whether writing must stop after an error.
func stops(err error) bool { return kindOf(err) >= damaged }

// WithCause adds the error of the operating system to an error of a file. SQLite has one number for a
// broken disk and for a disk quota or limit on file sizes: another write shows which it is.
func WithCause(err error, path string) error {
	var cause error
	if e, ok := errors.AsType[*driversqlite.Error](err); ok {
		switch e.Code() {
		case lib.SQLITE_FULL:
			cause = syscall.ENOSPC
		case lib.SQLITE_IOERR_WRITE, lib.SQLITE_IOERR_SHMSIZE, lib.SQLITE_CANTOPEN, lib.SQLITE_READONLY:
			// In a file next to the database, at the end of the database or its log, whichever is longer.
			var f *os.File
			if f, cause = os.CreateTemp(filepath.Dir(path), ".petcat-*"); cause == nil {
				_, cause = f.WriteAt(make([]byte, 64<<10), max(fileSize(path), fileSize(path+"-wal")))
				cause = errors.Join(cause, f.Close(), os.Remove(f.Name())) // #nosec G703 -- the file was just created
			}
		}
	}
	if cause == nil {
		return err
	}
	return fmt.Errorf("%w: %w", cause, err)
}

// fileSize returns the size of a file, 0 if there is none.
func fileSize(path string) int64 {
	info, err := os.Stat(path) // #nosec G703 -- the operator's own data directory
	if err != nil {
		return 0
	}
	return info.Size()
}

// maxPath is the maximum length of a path that SQLite opens, in bytes: its limit is 512, and the
// suffixes of other files need 8.
const maxPath = 504

// explain turns a database error into a [petcat.UnusableError] for operators.
func explain(err error, path string) error {
	if _, ok := errors.AsType[*petcat.UnusableError](err); ok || err == nil {
		return err
	}
	err = WithCause(err, path)
	switch kindOf(err) {
	case noRoom:
		return petcat.TemporarilyUnusablef(err, "the disk of %s is full; free some space and try again", path)
	case locked:
		return petcat.TemporarilyUnusablef(err,
			"%s is locked by another program; try again when that has finished",
			path)
	case unwritable:
		if len(path) > maxPath {
			return petcat.Unusablef(err,
				"SQLite cannot open %s, because the path is longer than %d bytes; "+
					"choose a shorter one with --data (PETCAT_DATA)",
				path, maxPath)
		}
		return petcat.Unusablef(err,
			"%s cannot be written (%v); give this user write permission or free some space",
			path, err)
	case damaged:
		return petcat.Unusablef(err, "%s is not a database or is damaged; restore a backup", path)
	case failing:
		return petcat.TemporarilyUnusablef(err,
			"the disk of %s fails (%v); check the disk and try again, or restore a backup",
			path, err)
	default:
		return err
	}
}

// translate turns a database error into a domain error. It keeps domain errors and errors
// of the caller's context.
func (s *DB) translate(err error, doing string) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*petcat.Error](err); ok {
		return e
	}
	err = fmt.Errorf("sqlite: %s: %w", doing, explain(err, s.path))
	if kindOf(err) == statement {
		return err
	}
	return store.Unavailable("the data is temporarily unavailable; retry later", err)
}
