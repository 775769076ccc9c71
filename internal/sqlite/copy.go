package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"time"

	driversqlite "modernc.org/sqlite"

	"petcat/internal/backup"
	"petcat/internal/osfile"
	"petcat/internal/store"
)

const (
	// copyStep is how many pages of 4 KiB are copied between two rests: less than a
	// millisecond of work.
	copyStep = 256
	// longLog is how many pages the write-ahead log may have, 64 MiB, before copying no
	// longer rests: creates wait while a long log is moved into the database.
	longLog = 64 << 20 / (4 << 10)
)

// BackupPaced implements [backup.PacedSource]. To read the rows takes long, and while
// somebody reads, the write-ahead log only grows, which makes commits slower. So it copies
// the pages, which is ten times as fast, and reads the rows from the copy. Where there is
// no room for a copy, it reads the database at once, without a rest.
func (s *Store) BackupPaced(ctx context.Context, file string, rest func() error, to backup.Sink) error {
	if !s.hasRoom(filepath.Dir(file)) {
		return s.Backup(ctx, to)
	}
	draft, err := osfile.NewDraft(file)
	if err != nil {
		return err
	}
	defer draft.Discard()
	if err := draft.Close(); err != nil { // SQLite opens it by its name
		return err
	}
	takenAt, err := s.copyTo(ctx, draft.Name(), rest)
	if err != nil {
		return err
	}
	db, err := open(dsnOfCopy(draft.Name()), 1)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // before it is discarded
	reader, err := db.Conn(ctx)
	if err != nil {
		return translate(err, "read the copy")
	}
	defer func() { _ = reader.Close() }()
	h, err := s.BackupHeader(conn{ctx, reader}, func() {})
	if err != nil {
		return translate(err, "read the copy")
	}
	h.TakenAt = takenAt
	return tell(ctx, reader, h, backup.Paced(to, rest))
}

// hasRoom reports whether a directory has room for a copy of the database.
func (s *Store) hasRoom(directory string) bool {
	free, err := osfile.FreeBytes(directory)
	needed, sizeErr := s.CopyBytes()
	return err == nil && sizeErr == nil && free >= needed
}

// CopyBytes returns how much room [Store.BackupPaced] needs to copy the database: that of
// the copy, and as much again for all else that is written there.
func (s *Store) CopyBytes() (int64, error) {
	database, err := os.Stat(s.path)
	if err != nil {
		return 0, fmt.Errorf("look at the size of the database: %w", err)
	}
	return 2 * (database.Size() + s.WALBytes()), nil
}

// copyTo copies the pages to a file, as of one moment, which it returns.
func (s *Store) copyTo(ctx context.Context, path string, rest func() error) (at time.Time, err error) {
	reader, end, err := s.snapshot(ctx)
	if err != nil {
		return at, translate(err, "copy the database")
	}
	defer end()
	at = store.Now(s.writer.clock)
	// The transaction begins with its first statement.
	if _, err := reader.ExecContext(ctx, "SELECT 1 FROM counter"); err != nil {
		return at, translate(err, "copy the database")
	}
	stopped, err := s.copyPages(ctx, reader, path, rest)
	if stopped != nil {
		return at, stopped
	}
	if err != nil {
		return at, fmt.Errorf("copy the database to %s: %w", path, err)
	}
	return at, nil
}

// copyPages returns in stopped what rest or the caller's end made of it.
func (s *Store) copyPages(ctx context.Context, reader *sql.Conn, path string, rest func() error) (stopped, err error) {
	type copier interface {
		NewBackup(to string) (*driversqlite.Backup, error)
	}
	return withRaw(reader, func(source copier) (stopped, err error) {
		// Nobody needs the copy after a crash.
		copying, err := source.NewBackup(dsn(path, "rw", []string{"journal_mode(MEMORY)", "synchronous(OFF)"}))
		if err != nil {
			return nil, err
		}
		for more := true; more; {
			more, err = copying.Step(copyStep)
			if err == nil && more && s.writer.logged.Load() <= longLog {
				stopped = rest()
			}
			if stopped == nil && ctx.Err() != nil {
				stopped = context.Cause(ctx)
			}
			if err != nil || stopped != nil {
				_ = copying.Finish() // repeats what Step returned
				return stopped, err
			}
		}
		return nil, copying.Finish()
	})
}
