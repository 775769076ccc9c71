package sqlite

import (
	"database/sql/driver"
	"errors"
	"fmt"

	driversqlite "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"petcat"
	"petcat/internal/openerror"
	"petcat/internal/store"
)

// severity is what an error means for the writes that come after it.
type severity int

const (
	// statement: something was wrong with one operation; it alone fails.
	statement severity = iota
	// temporary: nothing can be written now; the same may work later.
	temporary
	// fatal: nothing may be written any more.
	fatal
)

// resultCode returns SQLite's extended result code of an error, 0 when it is not
// SQLite's.
func resultCode(err error) int {
	if e, ok := errors.AsType[*driversqlite.Error](err); ok {
		return e.Code()
	}
	return 0
}

// severityOf tells errors apart by SQLite's result codes, never by their text.
func severityOf(err error) severity {
	code := resultCode(err)
	if code == lib.SQLITE_READONLY_DBMOVED || errors.Is(err, errMoved) {
		return fatal
	}
	switch code & 0xff {
	case lib.SQLITE_FULL, lib.SQLITE_READONLY, lib.SQLITE_BUSY, lib.SQLITE_LOCKED,
		lib.SQLITE_NOMEM, lib.SQLITE_CANTOPEN, lib.SQLITE_PROTOCOL, lib.SQLITE_PERM, lib.SQLITE_INTERRUPT:
		return temporary
	case lib.SQLITE_IOERR, lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return fatal
	}
	if errors.Is(err, driver.ErrBadConn) {
		return temporary
	}
	return statement
}

// refusesWrites reports whether an error says that other writes would fail, too.
func refusesWrites(err error) bool {
	code := resultCode(err) & 0xff
	return code == lib.SQLITE_FULL || code == lib.SQLITE_READONLY || code == lib.SQLITE_CANTOPEN || code == lib.SQLITE_PERM
}

// neverCommitted reports whether a failed COMMIT certainly left nothing behind:
// there was no room for all of the group, so the mark that ends it was not
// written, or the lock was not to be had.
func neverCommitted(err error) bool {
	code := resultCode(err) & 0xff
	return code == lib.SQLITE_FULL || code == lib.SQLITE_BUSY
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
	if code := resultCode(err) & 0xff; code == lib.SQLITE_CORRUPT || code == lib.SQLITE_NOTADB {
		wrapped = openerror.Errorf(openerror.Damaged, wrapped, "the database is damaged; stop petcat and restore a backup")
	}
	if severityOf(err) == statement {
		return wrapped
	}
	return store.Unavailable("the data cannot be reached at the moment; retry later", wrapped)
}
