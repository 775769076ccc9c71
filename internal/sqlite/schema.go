package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"petcat/internal/openerror"
)

// How many of the migrations a file has had, in the order of their names, is its user_version.
// They only add, so this program works with a file that has had more than it knows.
//
//go:embed migrations/*.sql
var migrations embed.FS

// applicationID is "pcat": it marks a file as ours in its header. The first migration does it.
const applicationID = 0x70636174

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
// one transaction: several processes may open it at once.
func migrate(ctx context.Context, db *sql.DB, path string, files fs.FS) error {
	const query = "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema) FROM pragma_application_id, pragma_user_version"
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		return err
	}
	var id, had, objects int
	if err := db.QueryRowContext(ctx, query).Scan(&id, &had, &objects); err != nil || id == applicationID && had >= len(names) {
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
		return openerror.Replaceablef(openerror.Foreign, nil, "%s is the database of another program", path)
	}
	for ; had < len(names); had++ {
		text, err := fs.ReadFile(files, names[had])
		if err == nil {
			_, err = tx.ExecContext(ctx, fmt.Sprintf("%s; PRAGMA user_version = %d", text, had+1))
		}
		if err != nil {
			return fmt.Errorf("change the schema: %w", err)
		}
	}
	return tx.Commit()
}
