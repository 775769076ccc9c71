package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/datadir"
	"github.com/petcat-api/petcat/internal/schema"
	"github.com/petcat-api/petcat/internal/store"
)

// applicationID is "pcat". The first migration writes it to the header of the file.
const applicationID = 0x70636174

//go:embed *.sql
var tables embed.FS

func migrations() []string {
	return schema.Migrations(tables, strings.NewReplacer(" BOOLEAN", " INTEGER"))
}

// settle checkpoints and empties a log that another process left. It needs exclusive access to the
// database, and waits for it. If the sync of that process failed, its commits in the log and the
// pages that it moved to the database may be only in memory: a power cut would lose them and
// everything that is appended to them. With exclusive access SQLite does not know which pages were
// moved, so it writes and syncs all of the log again.
func settle(ctx context.Context, path string, wait time.Duration) error {
	if fileSize(path+"-wal") == 0 {
		return nil
	}
	// The mode must be set before the first read, which opens the log.
	db := open(path, "rw", 1, append([]string{"locking_mode(EXCLUSIVE)"}, settings(wait)...)...)
	_, err := db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return errors.Join(err, db.Close())
}

// migrate rejects files of other programs, and runs the missing migrations in one transaction,
// because several processes may open the file at once. user_version is the number of migrations that
// the file has. This program works with a file that has more of them.
func migrate(ctx context.Context, db *sql.DB, path string, migrations []string) error {
	const query = `
		SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)
		FROM pragma_application_id, pragma_user_version`
	var id, had, objects int
	err := db.QueryRowContext(ctx, query).Scan(&id, &had, &objects)
	if err != nil || id == applicationID && had >= len(migrations) {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := tx.QueryRowContext(ctx, query).Scan(&id, &had, &objects); err != nil {
		return err
	}
	if id != applicationID && (id != 0 || objects != 0) {
		return petcat.Unusablef(nil,
			"%s is the database of another program; choose another directory with --data",
			path)
	}
	if had >= len(migrations) {
		return nil
	}
	scripts := append(slices.Clone(migrations[had:]), fmt.Sprintf("PRAGMA user_version = %d", len(migrations)))
	if _, err := tx.ExecContext(ctx, strings.Join(scripts, "")); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return tx.Commit()
}

// File is an open database file that no server uses.
type File struct {
	store.Conn

	db *sql.DB
}

// Close closes the file. On a nil File it is a no-op.
func (f *File) Close() error {
	if f == nil {
		return nil
	}
	return f.db.Close()
}

// dropReplication drops the tables that litestream creates in a database that it replicates.
const dropReplication = `DROP TABLE IF EXISTS _litestream_seq; DROP TABLE IF EXISTS _litestream_lock`

// EditFile opens a copy of a database for writing, migrates its schema, and drops the tables of
// litestream. No other process may have it open. It works without a log and does not sync: the caller
// syncs the file at the end, or removes it.
func EditFile(ctx context.Context, path string) (*File, error) {
	db := open(path, "rw", 1, "journal_mode(MEMORY)", "synchronous(OFF)", "temp_store(MEMORY)", "secure_delete(ON)")
	err := migrate(ctx, db, path, migrations())
	if err == nil {
		_, err = db.ExecContext(ctx, dropReplication)
	}
	return opened(ctx, db, err)
}

// ReadBackup opens a backup, even of a newer version. It returns a [petcat.UnusableError] if the file
// is not a backup of petcat, or not finished. The file may be in another user's directory: SQLite does not
// look for a journal or log next to it.
func ReadBackup(ctx context.Context, path string) (*File, error) {
	db := open(path, "immutable", 1, settings(timeout)...)
	return opened(ctx, db, identifyBackup(ctx, db))
}

// walAt is the place in a database file of the version of its format; it is walFormat after the database
// had a write-ahead log.
const (
	walAt     = 18
	walFormat = 2
)

// IsDatabase reports whether a file is a database that a server used, and not a backup: an unfinished
// backup never had a log.
func IsDatabase(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	var format [1]byte
	_, err = f.ReadAt(format[:], walAt)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	return format[0] == walFormat, err
}

// ReadDatabase opens an unused database, such as one that litestream restored. It returns a
// [petcat.UnusableError] if it is not petcat's database, or if some of its data is in a log.
func ReadDatabase(ctx context.Context, path string) (*File, error) {
	if fileSize(path+"-wal") > 0 {
		return nil, petcat.Unusablef(nil, "its last changes are in %s-wal; stop the programs that use it, "+
			"and make a backup of its directory with petcat backup --data", path)
	}
	db := open(path, "immutable", 1, settings(timeout)...)
	var id int
	err := db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id)
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case err != nil, id != applicationID:
		err = petcat.Unusablef(err, "it is not a database of petcat, or its beginning is damaged")
	}
	return opened(ctx, db, err)
}

// Backup copies the database into an empty file.
func (f *File) Backup(_ context.Context, to store.Copy) error {
	_, err := f.Exec(copyInto, to.Path())
	return err
}

func opened(ctx context.Context, db *sql.DB, err error) (*File, error) {
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &File{conn{ctx, newPrepared(db)}, db}, nil
}

func identifyBackup(ctx context.Context, db *sql.DB) error {
	const query = `
		SELECT application_id, (SELECT count(*) FROM sqlite_schema WHERE name = 'checksum')
		FROM pragma_application_id`
	var id, sums int
	err := db.QueryRowContext(ctx, query).Scan(&id, &sums)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil, id != applicationID:
		return petcat.Unusablef(err, "it is not a backup of petcat, or its beginning is damaged")
	case sums == 0:
		return petcat.Unusablef(nil, "it is not a finished backup (it has no table checksum)")
	default:
		return nil
	}
}

// copyInto copies a database into an empty file.
const copyInto = "VACUUM INTO ?"

// Backup copies a snapshot of the database into an empty file, on a separate connection. Writes
// continue, and the write-ahead log grows until the end.
func (s *DB) Backup(ctx context.Context, to store.Copy) error {
	db := open(s.path, "ro", 1, settings(timeout)...)
	_, err := db.ExecContext(ctx, copyInto, to.Path())
	return s.translate(errors.Join(WithCause(err, to.Path()), db.Close()), "copy the database")
}

// Restore copies a backup into a data directory without data. After an error it is still without data.
// The caller must hold the server lock.
func Restore(ctx context.Context, dir *datadir.Dir, by petcat.Actor, path string, c clock.Clock) error {
	draft, err := dir.DraftDatabase()
	if err != nil {
		return err
	}
	defer draft.Discard()
	if err := restore(ctx, draft.Name(), by, path, store.Now(c)); err != nil {
		return explain(err, draft.Name())
	}
	return draft.Keep()
}

// restore copies a backup into an empty file, and makes it a database that a server can open.
func restore(ctx context.Context, into string, by petcat.Actor, path string, at time.Time) error {
	from, err := ReadBackup(ctx, path)
	if err != nil {
		return err
	}
	_, err = from.Exec(copyInto, into)
	if err := errors.Join(err, from.Close()); err != nil {
		return err
	}
	f, err := EditFile(ctx, into)
	if err != nil {
		return err
	}
	if _, err = f.Exec("DROP TABLE checksum"); err == nil {
		err = store.NewTx(f, at, store.Sequences{}).Restored(by)
	}
	return errors.Join(err, f.Close())
}

// Integrity checks the file for damage, and returns one sentence for each finding.
func (s *DB) Integrity(ctx context.Context) (findings []string, err error) {
	findings, err = integrity(conn{ctx, s.readers})
	return findings, s.translate(err, "check the file")
}

// Integrity is [DB.Integrity] for a file.
func (f *File) Integrity() (findings []string, err error) { return integrity(f.Conn) }

func integrity(c store.Conn) (findings []string, err error) {
	const query = `
		SELECT 'the file is damaged: ' || integrity_check FROM pragma_integrity_check
		WHERE integrity_check <> 'ok'
		UNION ALL
		SELECT format('%s: row %d refers to a row of %s that does not exist', "table", rowid, parent)
		FROM pragma_foreign_key_check LIMIT 20`
	err = c.Query(func(scan store.Scan) error {
		var text string
		err := scan(&text)
		findings = append(findings, text)
		return err
	}, query)
	if kindOf(err) == damaged { // some damage aborts the check
		return append(findings, "the file is damaged: "+err.Error()), nil
	}
	return findings, err
}

// Alone runs fn. No other node uses the data.
func (s *DB) Alone(ctx context.Context, _ store.Job, fn func(context.Context) error) error {
	return fn(ctx)
}
