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
	"petcat/internal/openerror"
	"petcat/internal/osfile"
	"petcat/internal/store"
)

// errUncertain: nobody knows what is on the disk under the database's name.
var errUncertain = errors.New("what was written may be lost")

// kindOf tells errors apart by their numbers, never by their text. The kind is "" for an
// error of one statement, which is wrong alone. After Damaged and Failing nothing may be
// written any more.
func kindOf(err error) openerror.Kind {
	code := 0
	if e, ok := errors.AsType[*driversqlite.Error](err); ok {
		code = e.Code()
	}
	switch {
	case errors.Is(err, errUncertain), errors.Is(err, driver.ErrBadConn), code == lib.SQLITE_READONLY_DBMOVED:
		return openerror.Failing
	case osfile.IsFull(err):
		return openerror.NoRoom
	}
	switch code & 0xff {
	case lib.SQLITE_FULL:
		return openerror.NoRoom
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_PROTOCOL:
		return openerror.Locked
	case lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN, lib.SQLITE_PERM, lib.SQLITE_NOMEM, lib.SQLITE_INTERRUPT:
		return openerror.Unwritable
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return openerror.Damaged
	case lib.SQLITE_IOERR:
		return openerror.Failing
	default:
		return ""
	}
}

// stops reports whether nothing may be written any more after an error.
func stops(err error) bool {
	kind := kindOf(err)
	return kind == openerror.Damaged || kind == openerror.Failing
}

// WithCause adds what the system says to an error of a file. SQLite has one number only for
// writes that fail because a quota or a limit leaves no room, and because the disk is broken:
// another write finds out.
func WithCause(err error, path string) error {
	var cause error
	if e, ok := errors.AsType[*driversqlite.Error](err); ok {
		switch e.Code() {
		case lib.SQLITE_FULL:
			cause = syscall.ENOSPC
		case lib.SQLITE_IOERR_WRITE, lib.SQLITE_IOERR_SHMSIZE, lib.SQLITE_CANTOPEN, lib.SQLITE_READONLY:
			// Beside the database, as far from the begin as it and its log end.
			var f *os.File
			if f, cause = os.CreateTemp(filepath.Dir(path), ".petcat-*"); cause == nil {
				_, cause = f.WriteAt(make([]byte, 64<<10), max(fileSize(path), fileSize(path+"-wal")))
				cause = errors.Join(cause, f.Close(), os.Remove(f.Name())) // #nosec G703 -- it has just been made
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

// explain turns an error of the database into an [openerror.Error], whose sentence is for
// operators.
func explain(err error, path string) error {
	if _, ok := errors.AsType[*openerror.Error](err); ok || err == nil {
		return err
	}
	err = WithCause(err, path)
	kind, says := kindOf(err), ""
	switch kind {
	case openerror.Damaged:
		says = path + " is not a database or is damaged; restore a backup"
	case openerror.Failing:
		says = fmt.Sprintf("the disk of %s fails (%v); check the disk and try again, or restore a backup", path, err)
	case openerror.NoRoom:
		says = "the disk of " + path + " is full; free some space and try again"
	case openerror.Locked:
		says = path + " is locked by another program; try again when that has finished"
	case openerror.Unwritable:
		says = fmt.Sprintf("%s cannot be written (%v); give this user write permission or free some space", path, err)
	default:
		return err
	}
	return openerror.Errorf(kind, err, "%s", says)
}

// translate turns an error of the database into one of the domain. Errors of the
// domain, and those of a caller's context, pass as they are.
func (s *Store) translate(err error, doing string) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*petcat.Error](err); ok {
		return e
	}
	err = fmt.Errorf("sqlite: %s: %w", doing, explain(err, s.path))
	if kindOf(err) == "" {
		return err
	}
	return store.Unavailable("the data cannot be reached at the moment; retry later", err)
}
