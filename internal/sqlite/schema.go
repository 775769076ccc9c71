package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/pressly/goose/v3"
	driversqlite "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"petcat"
	"petcat/internal/openerror"
	"petcat/internal/osfile"
	"petcat/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// applicationID is "pcat": it marks a file as ours in its header.
const applicationID = 0x70636174

// prepare makes sure that the file is ours and has the schema that this program
// expects. The caller holds the migration lock.
func prepare(ctx context.Context, db *sql.DB, path string, mayMigrate bool, env petcat.Environment, now time.Time) (store.Meta, error) {
	if err := identify(ctx, db, path); err != nil {
		return store.Meta{}, err
	}
	// Persistent: this is a setting of the file, and takes effect once.
	if _, err := db.ExecContext(ctx, "PRAGMA journal_mode = WAL"); err != nil {
		return store.Meta{}, err
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return store.Meta{}, err
	}
	if err := migrate(ctx, db, files, path, mayMigrate); err != nil {
		return store.Meta{}, err
	}
	return store.ReadMeta(conn{ctx, db}, env, now)
}

// identify refuses files of other programs, and marks an empty one as ours.
func identify(ctx context.Context, db *sql.DB, path string) error {
	var id, objects int64
	if err := db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id); err != nil {
		return err
	}
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&objects); err != nil {
		return err
	}
	switch {
	case id == applicationID:
		return nil
	case id != 0 || objects != 0:
		return openerror.Replaceablef(openerror.Foreign, nil, "%s is the database of another program", path)
	}
	_, err := db.ExecContext(ctx, "PRAGMA application_id = "+strconv.Itoa(applicationID))
	return err
}

// migrate brings the schema up to date if that is allowed: each file in a
// transaction of its own, forward only.
func migrate(ctx context.Context, db *sql.DB, files fs.FS, path string, allowed bool) error {
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, files,
		goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	// A version that cannot be read counts for goose as one that is not there:
	// on a damaged file it would try for seconds to make the table anew.
	var versions int64
	err = db.QueryRowContext(ctx, "SELECT count(*) FROM goose_db_version").Scan(&versions)
	if severityOf(err) != statement {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	current, target, err := provider.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	if current > target {
		return openerror.Errorf(openerror.NewerSchema, nil, "%s was written by a newer petcat (its schema is %d, this program knows %d); use that version or later", path, current, target)
	}
	if current == target {
		return nil
	}
	if current != 0 && !allowed {
		return openerror.Errorf(openerror.OlderSchema, nil, "%s has an older schema (%d; this version needs %d); use the version that serves it", path, current, target)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("change the schema from %d to %d: %w", current, target, err)
	}
	return nil
}

// explain turns an error while opening into one sentence.
func explain(err error, path string) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*openerror.Error](err); ok {
		return err
	}
	wrapped := fmt.Errorf("sqlite: open %s: %w", path, err)
	if resultCode(err) == lib.SQLITE_IOERR_SHMSIZE {
		// The index of the log could not grow; SQLite does not say why.
		return noRoom(wrapped, path)
	}
	switch resultCode(err) & 0xff {
	case lib.SQLITE_NOTADB, lib.SQLITE_CORRUPT:
		return openerror.Replaceablef(openerror.Damaged, wrapped, "%s is not a database or is damaged; restore a backup", path)
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_PROTOCOL:
		return openerror.Errorf(openerror.Locked, wrapped, "%s is locked by another program; try again when that has finished", path)
	case lib.SQLITE_FULL:
		return noRoom(wrapped, path)
	case lib.SQLITE_IOERR:
		said, _ := errors.AsType[*driversqlite.Error](err)
		return failing(wrapped, path, said)
	case lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN, lib.SQLITE_PERM:
		switch err := tryToWrite(path); { // SQLite does not say why
		case osfile.IsFull(err):
			return noRoom(wrapped, path)
		case errors.Is(err, syscall.EIO):
			return failing(wrapped, path, err)
		}
		return openerror.Replaceablef(openerror.Unwritable, wrapped, "%s cannot be written (%v); give this user write permission or free some space", path, err)
	default:
		return wrapped
	}
}

// tryToWrite makes a file beside a database, and returns the system's error.
func tryToWrite(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".petcat-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name())) // #nosec G703 -- it has just been made
}

func failing(cause error, path string, why error) error {
	return openerror.Errorf(openerror.Failing, cause, "the disk of %s fails (%v); check the disk and try again, or restore a backup", path, why)
}

func noRoom(cause error, path string) error {
	return openerror.Replaceablef(openerror.NoRoom, cause, "the disk of %s is full; free some space and try again", path)
}
