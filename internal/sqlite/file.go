package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/pressly/goose/v3"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/datadir"
	"petcat/internal/openerror"
	"petcat/internal/store"
)

// A file that nobody else has open, such as a backup, needs neither a log nor syncs while it
// is written: its writer syncs it in the end, or throws it away.
func draftPragmas() []string {
	return []string{"journal_mode(MEMORY)", "synchronous(OFF)", "temp_store(MEMORY)", "secure_delete(ON)"}
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
// the tables of the schema, and an older one is brought up to date.
func EditFile(ctx context.Context, path string) (*File, error) {
	db, err := open(dsn(path, "rw", draftPragmas()), 1)
	if err != nil {
		return nil, err
	}
	files, err := fs.Sub(migrations, "migrations")
	if err == nil {
		err = identify(ctx, db, path)
	}
	if err == nil {
		err = migrate(ctx, db, files, path, true)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &File{conn{ctx, db}, db}, nil
}

// ReadBackup opens a backup, to which nobody writes. It returns an [openerror.Error] if it is
// not of petcat, of a newer version, or not finished.
func ReadBackup(ctx context.Context, path string) (*File, error) {
	db, err := open(dsn(path, "ro", readerPragmas())+"&immutable=1", 1)
	if err != nil {
		return nil, err
	}
	if err := identifyBackup(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &File{conn{ctx, db}, db}, nil
}

func identifyBackup(ctx context.Context, db *sql.DB) error {
	var id, version, sums int64
	if err := db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id); err != nil || id != applicationID {
		return openerror.Errorf(openerror.Foreign, err, "it is not a backup of petcat, or its beginning is damaged")
	}
	known, err := lastMigration()
	if err != nil {
		return err
	}
	const query = `SELECT max(version_id), (SELECT count(*) FROM sqlite_schema WHERE name = 'checksum') FROM goose_db_version`
	err = db.QueryRowContext(ctx, query).Scan(&version, &sums)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return openerror.Errorf(openerror.Foreign, err, "it is damaged (%v)", err)
	case version > known:
		return openerror.Errorf(openerror.NewerSchema, nil, "it was written by a newer petcat (its schema is %d, this program knows %d); use that version or later", version, known)
	case sums == 0:
		return openerror.Errorf(openerror.Foreign, nil, "it is not a finished backup (it has no table checksum)")
	default:
		return nil
	}
}

// lastMigration returns the number of the newest migration.
func lastMigration() (last int64, err error) {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	for _, name := range names {
		n, err := goose.NumericComponent(name)
		if err != nil {
			return 0, err
		}
		last = max(last, n)
	}
	return last, err
}

// Backup copies the database into an empty file, as of one moment, on a connection of its
// own. The writer goes on; until the end, the write-ahead log can only grow.
func (s *Store) Backup(ctx context.Context, to store.Copy) (err error) {
	db, err := open(dsn(s.path, "ro", commonPragmas(timeout)), 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := db.ExecContext(ctx, "VACUUM INTO ?", to.Path()); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return translate(FullDisk(err), "copy the database")
	}
	return nil
}

// Restore puts a copy of a backup into a data directory without data. After an error there
// is still no data. The caller holds the server's lock.
func Restore(ctx context.Context, dir *datadir.Dir, by petcat.Actor, file string, c clock.Clock) error {
	lock, err := dir.LockMigration(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	draft, err := dir.DraftDatabase()
	if err != nil {
		return err
	}
	defer draft.Discard()
	if err := copyFile(ctx, draft, file); err != nil {
		return err
	}
	f, err := EditFile(ctx, draft.Name())
	if err == nil {
		err = errors.Join(markRestored(f, by, store.Now(c)), f.Close())
	}
	if err != nil {
		return FullDisk(err)
	}
	return draft.Keep()
}

func copyFile(ctx context.Context, to io.Writer, path string) error {
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	_, err = io.Copy(to, readerFunc(func(b []byte) (int, error) {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		return from.Read(b)
	}))
	return err
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// markRestored turns a backup into a database that can be served.
func markRestored(f *File, by petcat.Actor, at time.Time) error {
	for _, statement := range []string{"BEGIN", "DROP TABLE checksum"} {
		if _, err := f.Exec(statement); err != nil {
			return err
		}
	}
	if err := store.NewTx(f, at, store.Sequences{}).Restored(by); err != nil {
		return err
	}
	_, err := f.Exec("COMMIT")
	return err
}

// Integrity asks SQLite for damage of the file, and returns one sentence for each finding.
func (s *Store) Integrity(ctx context.Context) (findings []string, err error) {
	findings, err = integrity(conn{ctx, s.readers})
	return findings, translate(err, "check the file")
}

// Integrity is [Store.Integrity] for a file.
func (f *File) Integrity() (findings []string, err error) { return integrity(f.Conn) }

func integrity(c store.Conn) (findings []string, err error) {
	err = c.Query(func(scan store.Scan) error {
		var text string
		if err := scan(&text); err != nil || text == "ok" {
			return err
		}
		findings = append(findings, "the file is damaged: "+text)
		return nil
	}, `PRAGMA integrity_check(20)`)
	if err == nil && len(findings) == 0 { // a damaged file has nothing true to say of references
		err = c.Query(func(scan store.Scan) error {
			var table, parent string
			var row, number sql.Null[int64]
			err := scan(&table, &row, &parent, &number)
			findings = append(findings, fmt.Sprintf("%s: row %d refers to a row of %s that does not exist", table, row.V, parent))
			return err
		}, `PRAGMA foreign_key_check`)
	}
	if classOf(err) == damaged { // some damage stops the check itself
		return append(findings, "the file is damaged: "+err.Error()), nil
	}
	return findings, err
}

// Alone runs fn: no other node uses the data.
func (s *Store) Alone(ctx context.Context, fn func(context.Context) error) (ran bool, err error) {
	return true, fn(ctx)
}
