package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/groupcommit"
	"petcat/internal/store"
)

// op is one write: the creation of a category, or the turn of a transaction.
type op struct {
	create  *store.Create    // nil: turn
	turn    *turn            // nil: create
	account petcat.AccountID // of the request; 0 for an operator
}

// writer is the state of the committer's goroutine.
type writer struct {
	conn   conn
	file   os.FileInfo   // the database file when the store was opened
	tries  int           // maximum attempts to lock the database, one per millisecond
	ended  clock.Reading // end of the last group
	paused clock.Reading // last time when other processes could take the lock
	moved  int           // pages of the log at the last attempt to move it
}

// commit makes a group durable. It is the committer's function.
func (s *DB) commit(group []*op) error {
	changed, err := s.transact(group)
	s.writer.ended = s.options.Clock.Read()
	if err == nil && len(changed) > 0 && s.options.CategoriesCommitted != nil {
		s.options.CategoriesCommitted(changed)
	}
	if err == nil && s.options.Serving {
		err = s.checkpoint()
	}
	err = WithCause(err, s.path)
	kind := kindOf(err)
	s.refused.Store(kind == noRoom || kind == unwritable)
	if !stops(err) {
		return s.translate(err, "commit")
	}
	s.options.Logger.Error("writes stopped after a disk failure", "error", err)
	return groupcommit.Poison(err)
}

// transact runs a group in one transaction, and returns the changed categories. An operation that the
// domain refuses has the error as its outcome.
func (s *DB) transact(group []*op) ([]petcat.RevisedCategory, error) {
	c := s.writer.conn
	if err := s.begin(); err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	committed := false
	defer func() {
		if !committed {
			_, _ = c.Exec("ROLLBACK") // after some errors SQLite has rolled back itself
		}
	}()
	var n store.Sequences
	if err := c.Query(func(scan store.Scan) error { return scan(n.Into()...) }, store.SelectSequences); err != nil {
		return nil, err
	}
	t := store.NewTx(c, store.Now(s.options.Clock), n)
	var creates []*store.Create
	for _, o := range group {
		if o.create != nil {
			creates = append(creates, o.create)
		} else if err := o.turn.take(t); err != nil {
			return nil, err
		}
	}
	if err := t.CreateAll(creates); err != nil {
		return nil, err
	}
	if err := errors.Join(t.Finish(), s.checkFile()); err != nil {
		return nil, err
	}
	_, err := c.Exec("COMMIT")
	err = WithCause(err, s.path)
	committed = err == nil
	if kind := kindOf(err); err != nil && kind != noRoom && kind != locked { // on a full disk, the commit record was not written
		err = fmt.Errorf("commit: %w: %w", errUncertain, err)
	}
	return t.ChangedCategories(), err
}

// checkFile returns an error if the path does not name the open file any more. SQLite would continue
// to write to a removed file, and the commits would be lost. It takes 2 us per group.
func (s *DB) checkFile() error {
	file, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(file, s.writer.file) {
		return fmt.Errorf("the database file was removed or replaced while it was in use: %w", errUncertain)
	}
	return nil
}

// A busy server leaves the lock to other processes for a pause at an interval. They try once a
// millisecond, and would miss the gaps between its transactions.
const (
	pause      = 2 * time.Millisecond
	pauseEvery = 50 * time.Millisecond
)

// begin begins a transaction with the write lock of the database.
func (s *DB) begin() error {
	w := &s.writer
	switch now := s.options.Clock.Read(); {
	case now.Since(w.ended) >= pause:
		w.paused = now
	case s.options.Serving && now.Since(w.paused) >= pauseEvery:
		time.Sleep(pause)
		w.paused = s.options.Clock.Read()
	}
	return s.whileLocked(func() error {
		_, err := w.conn.Exec("BEGIN IMMEDIATE")
		return err
	})
}

// whileLocked retries fn while another process holds the lock. SQLite's busy handler backs off, and
// would miss the pauses of a busy server.
func (s *DB) whileLocked(fn func() error) error {
	for try := 1; ; try++ {
		if err := fn(); kindOf(err) != locked || try == s.writer.tries {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// logPages is the length of the write-ahead log at which it is checkpointed: 4 MB. A longer log is
// not faster, because SQLite reuses its file.
const logPages = 1000

// logBytes is the maximum size of the log's file after a checkpoint. The file is larger only if a
// reader kept the log for long.
const logBytes = 2 * logPages * 4096

// checkpoint moves a long log into the database, as far as readers allow; the next transaction then
// starts the log again. On a full disk it has to wait. It runs between two groups, because it cannot
// finish while transactions append to the log.
//
// SQLite's automatic checkpoint ignores its result: after a failed sync, pages may be lost, and the
// next sync would succeed and let SQLite overwrite the log that still has them.
func (s *DB) checkpoint() error {
	w := &s.writer
	pages, err := s.logLength("NOOP")
	if pages < w.moved {
		w.moved = 0 // the log was started again
	}
	// Pages that a reader keeps in the log are not retried with each group, because each attempt
	// sorts the whole log.
	if err == nil && pages-w.moved >= logPages {
		w.moved = pages
		_, err = s.logLength("PASSIVE")
	}
	if err = WithCause(err, s.path); err == nil || stops(err) {
		return err
	}
	s.options.Logger.Warn("checkpoint failed; the write-ahead log grows until one succeeds", "error", err)
	return nil
}

// logLength runs a checkpoint in a mode and returns the number of pages of the log. NOOP moves none.
func (s *DB) logLength(mode string) (pages int, err error) {
	var busy, moved int
	err = s.writer.conn.Query(func(scan store.Scan) error { return scan(&busy, &pages, &moved) }, "PRAGMA wal_checkpoint("+mode+")")
	return pages, err
}
