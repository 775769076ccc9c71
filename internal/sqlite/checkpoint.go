package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	lib "modernc.org/sqlite/lib"

	"petcat/internal/openerror"
	"petcat/internal/store"
)

// Only two places here move the write-ahead log into the database, and both look
// at what comes of it: the writer while it works, and settle before and after.
// SQLite's own checkpoint throws its result away: pages whose sync has failed may
// be gone, and the next sync, which reports success, would let the log be
// overwritten that still holds them.

// logPages is how long the log may become before it is moved into the database:
// 4 MB. Longer ones are not faster, because a log that is used again needs no
// growing file.
const logPages = 1000

// logBytes is what is left of the log's file when it begins anew: all of it, unless a
// reader kept the log for long.
const logBytes = 2 * logPages * 4096

// checkpointed is what a checkpoint says: SQLite's row.
type checkpointed struct {
	busy       bool // somebody else was in the way
	log, moved int  // pages in the log, and how many of them are in the database
}

func (c *checkpointed) scan(row *sql.Row) error { return row.Scan(&c.busy, &c.log, &c.moved) }

// checkpoint moves the log into the database when it has become long, as far as
// readers let it; the next transaction then begins the log anew. It runs between
// two groups, because a log that others append to meanwhile is never done with.
//
// An error is fatal unless it is temporary: see severityOf. After a temporary one
// everything is in the log, as before.
func (w *writer) checkpoint() error {
	const look, move = `PRAGMA wal_checkpoint(NOOP)`, `PRAGMA wal_checkpoint(PASSIVE)`
	c, err := w.checkpointBy(look)
	if err != nil {
		return err
	}
	w.logged.Store(int64(c.log))
	if c.log < w.tried {
		w.tried = 0 // the log has begun anew
	}
	// What a reader keeps in the log is not tried again with each group: each try
	// sorts the whole log.
	if c.log-max(c.moved, w.tried) < logPages {
		return nil
	}
	w.tried = c.log
	_, err = w.checkpointBy(move)
	return err
}

func (w *writer) checkpointBy(query string) (c checkpointed, err error) {
	stmt, err := w.prepare(query) //nolint:sqlclosecheck // closed with its connection
	if err != nil {
		return c, err
	}
	if err := c.scan(stmt.QueryRowContext(w.life)); err != nil {
		return c, fmt.Errorf("checkpoint: %w", err)
	}
	return c, nil
}

// settlePoll is how often settle checks whether others still have the database open.
const settlePoll = 10 * time.Millisecond

// settleFor settles what an earlier process left, before anything is appended. A
// server waits for the processes that have the database open. A command need not: a
// server, or the command before it, has done it. refused is why nothing may be written
// until there is room on the disk.
func settleFor(ctx context.Context, path string, serving bool) (refused, err error) {
	if serving {
		return nil, settleWithin(ctx, path, timeout)
	}
	err = settle(ctx, path)
	switch {
	case isBusy(err):
		return nil, nil
	case severityOf(err) == temporary:
		return err, nil
	default:
		return nil, err
	}
}

// settleAtClose repeats what SQLite does when the last connection is closed, because
// SQLite does not report if that failed. All commits are in the log: what cannot be done
// now, the next start does.
func (s *Store) settleAtClose() error {
	err := settle(s.writer.life, s.path)
	if err == nil || severityOf(err) == temporary {
		return nil
	}
	const message = "all commits are stored, but the disk failed during a checkpoint; check the disk"
	if s.serving {
		return store.Unavailable(message, err) // it is to be started again
	}
	return fmt.Errorf("%s (%w)", message, err)
}

// settleWithin is settle, but waits until no other process has the database open.
func settleWithin(ctx context.Context, path string, timeout time.Duration) error {
	wait, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	poll := time.NewTicker(settlePoll)
	defer poll.Stop()
	for {
		err := settle(ctx, path)
		if !isBusy(err) {
			return err
		}
		select {
		case <-poll.C:
		case <-wait.Done():
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return openerror.Errorf(openerror.Locked, err, "%s is in use by another program, such as a backup, so the write-ahead log of the last server cannot be checkpointed; try again when that program has finished", path)
		}
	}
}

// settle moves a log that is left into the database and empties it. It needs the
// database alone, and fails with SQLite's busy otherwise. A log that was left by
// a process whose sync failed may hold commits that are in memory only, and so may
// pages that this process moved: a power cut would take them, and everything that
// is appended after them. Nobody else has the database open, so nothing is known
// of what was moved: all of the log is written and synced anew.
func settle(ctx context.Context, path string) (err error) {
	left, err := os.Stat(path + "-wal")
	if errors.Is(err, fs.ErrNotExist) || err == nil && left.Size() == 0 {
		return nil
	}
	if ours, err := isOurs(path); err != nil || !ours {
		return err
	}
	// Before anything is read: the mode decides how the log is opened.
	db, err := open(dsn(path, "rw", append([]string{"locking_mode(EXCLUSIVE)"}, commonPragmas(0)...)), 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var c checkpointed
	if err := c.scan(db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")); err != nil {
		return fmt.Errorf("move the write-ahead log into the database: %w", err)
	}
	if c.busy {
		return fmt.Errorf("the write-ahead log of %s is kept by a reader, though nobody else can have it open", path)
	}
	return nil
}

// isOurs reports whether a file has our mark, without SQLite, which would move the
// log of another program's database, too.
func isOurs(path string) (bool, error) {
	const at = 68 // of the application's id: see "The Database Header" of SQLite's file format
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { _ = file.Close() }()
	var mark [4]byte
	if _, err := file.ReadAt(mark[:], at); err != nil {
		return false, nil // too short to be a database
	}
	return bytes.Equal(mark[:], binary.BigEndian.AppendUint32(nil, applicationID)), nil
}

func isBusy(err error) bool { return resultCode(err)&0xff == lib.SQLITE_BUSY }
