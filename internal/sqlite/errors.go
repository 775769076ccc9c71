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

	"petcat"
	"petcat/internal/groupcommit"
	"petcat/internal/openerror"
	"petcat/internal/osfile"
	"petcat/internal/store"
)

// class is what an error of the database means for the writes that come after it.
type class int

const (
	statement  class = iota // one operation was wrong: it alone fails
	full                    // no room; writes work again when there is some
	locked                  // another process is in the way
	unwritable              // read-only, or not to be opened
	passing                 // out of memory, or interrupted
	damaged                 // what is in the file is wrong: nothing may be written any more
	failing                 // nobody knows what is on the disk: nothing may be written any more
)

var (
	// errMoved: the database is no longer where it was.
	errMoved = errors.New("the database file was removed or replaced while it was in use")
	// errUnknown: nobody knows whether a commit is durable.
	errUnknown = errors.New("the disk failed")
)

// classOf tells errors apart by their numbers, never by their text.
func classOf(err error) class {
	code := resultCode(err)
	switch {
	case errors.Is(err, errMoved), errors.Is(err, errUnknown), errors.Is(err, driver.ErrBadConn), code == lib.SQLITE_READONLY_DBMOVED:
		return failing
	case osfile.IsFull(err):
		return full
	}
	switch code & 0xff {
	case lib.SQLITE_FULL:
		return full
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_PROTOCOL:
		return locked
	case lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN, lib.SQLITE_PERM:
		return unwritable
	case lib.SQLITE_NOMEM, lib.SQLITE_INTERRUPT:
		return passing
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return damaged
	case lib.SQLITE_IOERR:
		return failing
	default:
		return statement
	}
}

// resultCode returns SQLite's extended result code of an error, 0 when it is not
// SQLite's.
func resultCode(err error) int {
	if e, ok := errors.AsType[*driversqlite.Error](err); ok {
		return e.Code()
	}
	return 0
}

// withCause adds what the system says to errors for which SQLite has one number only: a
// write fails alike where there is no room and where the disk is broken.
func withCause(err error, path string) error {
	switch resultCode(err) {
	case lib.SQLITE_IOERR_WRITE, lib.SQLITE_IOERR_SHMSIZE, lib.SQLITE_CANTOPEN, lib.SQLITE_READONLY:
		if cause := tryToWrite(path); cause != nil {
			return fmt.Errorf("%w: %w", cause, err)
		}
	}
	return err
}

// tryToWrite writes a little into a file beside a database, as far from its begin as the
// database and its log end, and returns the system's error.
func tryToWrite(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".petcat-*")
	if err != nil {
		return err
	}
	end := max(fileSize(path), fileSize(path+"-wal"))
	_, err = f.WriteAt(make([]byte, 64<<10), end)
	return errors.Join(err, f.Close(), os.Remove(f.Name())) // #nosec G703 -- it has just been made
}

// fileSize returns the size of a file, 0 if there is none.
func fileSize(path string) int64 {
	info, err := os.Stat(path) // #nosec G703 -- the operator's own data directory
	if err != nil {
		return 0
	}
	return info.Size()
}

// FullDisk adds the system's error to one that says that there is no room in a file that
// was written.
func FullDisk(err error) error {
	if classOf(err) == full && !osfile.IsFull(err) {
		return fmt.Errorf("%w: %w", syscall.ENOSPC, err)
	}
	return err
}

// translate turns an error of the database into one of the domain. Errors of the
// domain, and those of a caller's context, pass as they are.
func translate(err error, doing string) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*petcat.Error](err); ok {
		return e
	}
	wrapped := fmt.Errorf("sqlite: %s: %w", doing, err)
	switch classOf(err) {
	case statement:
		return wrapped
	case damaged:
		wrapped = openerror.Errorf(openerror.Damaged, wrapped, "the database is damaged; stop petcat and restore a backup")
	default:
	}
	return store.Unavailable("the data cannot be reached at the moment; retry later", wrapped)
}

// groupError says what it means that a group of writes failed, in the words of operators.
func groupError(err error) error {
	switch classOf(err) {
	case statement:
		return err
	case full:
		return store.Unavailable("nothing was changed, because the disk is full; free some space and try again", err)
	case locked:
		return store.Unavailable("nothing was changed, because another program keeps the database locked; try again when that has finished", err)
	case damaged, failing:
		return groupcommit.Poison(store.Unavailable("nothing can be stored at the moment, and this write may or may not have happened; retry it later with the same Idempotency-Key", fmt.Errorf("%w: %w", petcat.ErrOutcomeUnknown, err)))
	default:
		return store.Unavailable("nothing was changed, because the database cannot be written at the moment; try again later", err)
	}
}

// createError is the error of a create that failed with its group, in the words of callers.
func createError(err error) error {
	if petcat.CodeOf(err) != petcat.CodeServiceUnavailable || groupcommit.Refused(err) || errors.Is(err, petcat.ErrOutcomeUnknown) {
		return err
	}
	return store.Unavailable("nothing can be stored at the moment; retry later with the same Idempotency-Key", err)
}

// openError turns an error while opening into one sentence.
func openError(err error, path string) error {
	if _, ok := errors.AsType[*openerror.Error](err); ok || err == nil {
		return err
	}
	said := withCause(err, path)
	err = fmt.Errorf("sqlite: open %s: %w", path, said)
	switch classOf(err) {
	case damaged:
		return openerror.Replaceablef(openerror.Damaged, err, "%s is not a database or is damaged; restore a backup", path)
	case locked:
		return openerror.Errorf(openerror.Locked, err, "%s is locked by another program; try again when that has finished", path)
	case full:
		return openerror.Replaceablef(openerror.NoRoom, err, "the disk of %s is full; free some space and try again", path)
	case failing:
		return openerror.Errorf(openerror.Failing, err, "the disk of %s fails (%v); check the disk and try again, or restore a backup", path, said)
	case unwritable:
		return openerror.Replaceablef(openerror.Unwritable, err, "%s cannot be written (%v); give this user write permission or free some space", path, said)
	default:
		return err
	}
}
