package sqlite

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"github.com/pressly/goose/v3"
	driversqlite "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"petcat"
)

//go:embed migrations/*.sql
var migrations embed.FS

// applicationID is "pcat": it marks a file as ours in its header.
const applicationID = 0x70636174

// prepare makes sure that the file is ours and has the schema that this program
// expects. The caller holds the migration lock.
func prepare(ctx context.Context, db *sql.DB, path string, mayMigrate bool, env petcat.Environment, now time.Time) (meta, error) {
	if err := identify(ctx, db, path); err != nil {
		return meta{}, err
	}
	// Persistent: this is a setting of the file, and takes effect once.
	if _, err := db.ExecContext(ctx, "PRAGMA journal_mode = WAL"); err != nil {
		return meta{}, err
	}
	if err := migrate(ctx, db, path, mayMigrate); err != nil {
		return meta{}, err
	}
	return readMeta(ctx, db, env, now)
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
		return openErrorf(Foreign, nil, "%s is the database of another program; choose another directory with --data", path)
	}
	_, err := db.ExecContext(ctx, "PRAGMA application_id = "+strconv.Itoa(applicationID))
	return err
}

// migrate brings the schema up to date if that is allowed: each file in a
// transaction of its own, forward only.
func migrate(ctx context.Context, db *sql.DB, path string, allowed bool) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
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
		return openErrorf(NewerSchema, nil, "%s was written by a newer petcat (its schema is %d, this program knows %d); use that version or later", path, current, target)
	}
	if current == target {
		return nil
	}
	if current != 0 && !allowed {
		return openErrorf(OlderSchema, nil, "%s has the schema of an older petcat (%d, this program works with %d); use the version that serves it, or let petcat serve or petcat migrate of this one bring it up to date", path, current, target)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("change the schema from %d to %d: %w", current, target, err)
	}
	return nil
}

// meta says whose data this is.
type meta struct {
	environment petcat.Environment
	dataset     string // the random name of this set of data
}

// readMeta checks whose data this is, or writes it down in fresh data. Without
// an environment, that of the data holds, and fresh data is for production.
func readMeta(ctx context.Context, db *sql.DB, env petcat.Environment, now time.Time) (meta, error) {
	const insert = `INSERT INTO meta (name, value) VALUES ('environment', ?), ('dataset', ?), ('created_at', ?) ON CONFLICT DO NOTHING`
	const query = `SELECT e.value, d.value FROM meta AS e, meta AS d WHERE e.name = 'environment' AND d.name = 'dataset'`
	read := func() (m meta, err error) {
		err = db.QueryRowContext(ctx, query).Scan(&m.environment, &m.dataset)
		return m, err
	}
	m, err := read()
	if errors.Is(err, sql.ErrNoRows) {
		fresh := cmp.Or(env, petcat.Production)
		if _, err := db.ExecContext(ctx, insert, string(fresh), rand.Text(), now.UTC().Format(time.RFC3339)); err != nil {
			return meta{}, err
		}
		m, err = read()
	}
	if err != nil {
		return meta{}, err
	}
	if env != "" && m.environment != env {
		return meta{}, openErrorf(OtherEnvironment, nil, "the data belongs to the %s environment and this is %s; choose another directory with --data, or start with --environment %s", m.environment, env, m.environment)
	}
	return m, nil
}

// explain turns an error while opening into one sentence.
func explain(err error, path string) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*OpenError](err); ok {
		return err
	}
	wrapped := fmt.Errorf("sqlite: open %s: %w", path, err)
	if resultCode(err) == lib.SQLITE_IOERR_SHMSIZE {
		// The index of the log could not grow; SQLite does not say why.
		return noRoom(wrapped, path)
	}
	switch resultCode(err) & 0xff {
	case lib.SQLITE_NOTADB, lib.SQLITE_CORRUPT:
		return openErrorf(Damaged, wrapped, "%s is not a database or is damaged; restore a backup, or choose another directory with --data", path)
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_PROTOCOL:
		return openErrorf(Locked, wrapped, "%s is locked by another program; try again when that has finished", path)
	case lib.SQLITE_FULL:
		return noRoom(wrapped, path)
	case lib.SQLITE_IOERR:
		said, _ := errors.AsType[*driversqlite.Error](err)
		return openErrorf(Failing, wrapped, "the disk of %s does not work (%v); look at the disk and try again, or restore a backup", path, said)
	case lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN, lib.SQLITE_PERM:
		return openErrorf(Unwritable, wrapped, "%s cannot be written (%v); let this user write to it, make room, or choose another directory with --data", path, err)
	default:
		return wrapped
	}
}

func noRoom(cause error, path string) error {
	return openErrorf(NoRoom, cause, "there is no room on the disk of %s; make room and try again, or choose another directory with --data", path)
}
