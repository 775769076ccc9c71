package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"github.com/pressly/goose/v3"

	"petcat"
	"petcat/internal/openerror"
	"petcat/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// applicationID is "pcat": it marks a file as ours in its header.
const applicationID = 0x70636174

// settleFor settles what an earlier process left, before anything is appended. A
// server waits for the processes that have the database open. A command need not: a
// server, or the command before it, has done it.
func settleFor(ctx context.Context, path string, serving bool) error {
	if serving {
		return settle(ctx, path, timeout)
	}
	if err := settle(ctx, path, 0); classOf(err) != locked {
		return err
	}
	return nil
}

// settle moves a log that is left into the database and empties it. It needs the
// database alone, and waits so long for that. A log that was left by
// a process whose sync failed may hold commits that are in memory only, and so may
// pages that this process moved: a power cut would take them, and everything that
// is appended after them. Nobody else has the database open, so nothing is known
// of what was moved: all of the log is written and synced anew.
func settle(ctx context.Context, path string, wait time.Duration) (err error) {
	if fileSize(path+"-wal") == 0 {
		return nil
	}
	// Before anything is read: the mode decides how the log is opened.
	db, err := open(dsn(path, "rw", append([]string{"locking_mode(EXCLUSIVE)"}, commonPragmas(wait)...)), 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	_, err = db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return err
}

// prepare makes sure that the file is ours and has the schema that this program
// expects. The caller holds the migration lock.
func prepare(ctx context.Context, db *sql.DB, path string, mayMigrate bool, env petcat.Environment, now time.Time) (store.Meta, error) {
	if err := identify(ctx, db, path); err != nil {
		return store.Meta{}, err
	}
	// Persistent: this is a setting of the file, and takes effect once.
	var journal string
	if err := db.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&journal); err != nil {
		return store.Meta{}, err
	}
	if journal != "wal" {
		return store.Meta{}, openerror.Errorf(openerror.Unsafe, nil, "%s cannot be used with a write-ahead log (its journal is %q); put the data directory on a local disk", path, journal)
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
	const query = "SELECT (SELECT application_id FROM pragma_application_id), (SELECT count(*) FROM sqlite_schema)"
	if err := db.QueryRowContext(ctx, query).Scan(&id, &objects); err != nil {
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
	if classOf(err) != statement {
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
