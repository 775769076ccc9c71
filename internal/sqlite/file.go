package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/datadir"
	"petcat/internal/schema"
	"petcat/internal/store"
)

// applicationID is "pcat": it marks a file as ours in its header. A migration does it.
const applicationID = 0x70636174

//go:embed *.sql
var tables embed.FS

func migrations() []string {
	return schema.Migrations(tables, strings.NewReplacer(" BOOLEAN", " INTEGER"))
}

// settle moves a log that is left into the database and empties it. It needs the
// database alone, and waits so long for that. A log that was left by
// a process whose sync failed may hold commits that are in memory only, and so may
// pages that this process moved: a power cut would take them, and everything that
// is appended after them. Nobody else has the database open, so nothing is known
// of what was moved: all of the log is written and synced anew.
func settle(ctx context.Context, path string, wait time.Duration) error {
	if fileSize(path+"-wal") == 0 {
		return nil
	}
	// Before anything is read: the mode decides how the log is opened.
	db := open(path, "rw", 1, append([]string{"locking_mode(EXCLUSIVE)"}, settings(wait)...)...)
	_, err := db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return errors.Join(err, db.Close())
}

// migrate refuses files of other programs, and runs the migrations that a file has not had, in
// one transaction: several processes may open it at once. How many it has had is its
// user_version. This program works with a file that has had more than it knows.
func migrate(ctx context.Context, db *sql.DB, path string, migrations []string) error {
	const query = "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema) FROM pragma_application_id, pragma_user_version"
	var id, had, objects int
	if err := db.QueryRowContext(ctx, query).Scan(&id, &had, &objects); err != nil || id == applicationID && had >= len(migrations) {
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
		return petcat.Unusablef(nil, "%s is the database of another program; choose another directory with --data", path)
	}
	if had >= len(migrations) {
		return nil
	}
	scripts := append(slices.Clone(migrations[had:]), fmt.Sprintf("PRAGMA user_version = %d", len(migrations)))
	if _, err := tx.ExecContext(ctx, strings.Join(scripts, "")); err != nil {
		return fmt.Errorf("change the schema: %w", err)
	}
	return tx.Commit()
}

// File is an open database file that no server uses.
type File struct {
	store.Conn

	db *sql.DB
}

// Close closes the file, if there is one.
func (f *File) Close() error {
	if f == nil {
		return nil
	}
	return f.db.Close()
}

// EditFile opens a database file that nobody else has open, for writing. An empty file gets
// the tables of the schema, and an older one is brought up to date. It needs neither a log nor
// syncs: its writer syncs it in the end, or throws it away.
func EditFile(ctx context.Context, path string) (*File, error) {
	db := open(path, "rw", 1, "journal_mode(MEMORY)", "synchronous(OFF)", "temp_store(MEMORY)", "secure_delete(ON)")
	return opened(ctx, db, migrate(ctx, db, path, migrations()))
}

// ReadBackup opens a backup, to which nobody writes. It returns a [petcat.UnusableError] if it is
// not of petcat, of a newer version, or not finished.
func ReadBackup(ctx context.Context, path string) (*File, error) {
	db := open(path, "ro", 1, settings(timeout)...)
	return opened(ctx, db, identifyBackup(ctx, db))
}

func opened(ctx context.Context, db *sql.DB, err error) (*File, error) {
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &File{conn{ctx, newPrepared(db)}, db}, nil
}

func identifyBackup(ctx context.Context, db *sql.DB) error {
	const query = `SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema WHERE name = 'checksum')
		FROM pragma_application_id, pragma_user_version`
	var id, version, sums int
	err := db.QueryRowContext(ctx, query).Scan(&id, &version, &sums)
	known := len(migrations())
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil, id != applicationID:
		return petcat.Unusablef(err, "it is not a backup of petcat, or its beginning is damaged")
	case sums == 0:
		return petcat.Unusablef(nil, "it is not a finished backup (it has no table checksum)")
	case version > known: // what this program does not know would be lost
		return petcat.Unusablef(nil, "it was written by a newer petcat (its schema is %d, this program knows %d); use that version or later", version, known)
	default:
		return nil
	}
}

// copyInto copies a database into an empty file.
const copyInto = "VACUUM INTO ?"

// Backup copies the database into an empty file, as of one moment, on a connection of its
// own. The writer goes on; until the end, the write-ahead log can only grow.
func (s *Store) Backup(ctx context.Context, to store.Copy) error {
	db := open(s.path, "ro", 1, settings(timeout)...)
	_, err := db.ExecContext(ctx, copyInto, to.Path())
	return s.translate(errors.Join(WithCause(err, to.Path()), db.Close()), "copy the database")
}

// Restore puts a copy of a backup into a data directory without data. After an error there
// is still no data. The caller holds the server's lock.
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

// restore copies a backup into an empty file, and turns it into a database that can be served.
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

// Integrity asks SQLite for damage of the file, and returns one sentence for each finding.
func (s *Store) Integrity(ctx context.Context) (findings []string, err error) {
	findings, err = integrity(conn{ctx, s.readers})
	return findings, s.translate(err, "check the file")
}

// Integrity is [Store.Integrity] for a file.
func (f *File) Integrity() (findings []string, err error) { return integrity(f.Conn) }

func integrity(c store.Conn) (findings []string, err error) {
	const query = `SELECT 'the file is damaged: ' || integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'
		UNION ALL SELECT format('%s: row %d refers to a row of %s that does not exist', "table", rowid, parent) FROM pragma_foreign_key_check LIMIT 20`
	err = c.Query(func(scan store.Scan) error {
		var text string
		err := scan(&text)
		findings = append(findings, text)
		return err
	}, query)
	if kindOf(err) == damaged { // some damage stops the check itself
		return append(findings, "the file is damaged: "+err.Error()), nil
	}
	return findings, err
}

// Alone runs fn: no other node uses the data.
func (s *Store) Alone(ctx context.Context, fn func(context.Context) error) (ran bool, err error) {
	return true, fn(ctx)
}
