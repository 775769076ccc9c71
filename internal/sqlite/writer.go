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

// op is one write: the creation of a category, or any other change.
type op struct {
	create  *store.Create // nil: change
	change  func(*store.Tx) error
	account petcat.AccountID // whose request it is, 0 for the operator's
	outcome error            // of this operation alone
}

// writer is what only the committer's goroutine uses.
type writer struct {
	conn   conn
	file   os.FileInfo   // what the path named when the store was opened
	tries  int           // how often the lock is tried, once a millisecond
	ended  clock.Reading // when the last group ended
	paused clock.Reading // when the lock was left to others last
	moved  int           // how many pages the log had when moving it was last tried
}

// commit makes a group durable. It is the committer's function.
func (s *Store) commit(group []*op) error {
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
	s.options.Logger.Error("writes are stopped after a disk failure: restart the program to recover from what is on disk", "error", err)
	return groupcommit.Poison(err)
}

// transact runs a group in one transaction, and returns the categories that were changed. What
// the domain refuses is an operation's own outcome.
func (s *Store) transact(group []*op) ([]petcat.RevisedCategory, error) {
	c := s.writer.conn
	if err := s.begin(); err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	committed := false
	defer func() {
		if !committed {
			_, _ = c.Exec("ROLLBACK") // SQLite itself has done it after some errors
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
		} else if err := change(t, o); err != nil {
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
	if kind := kindOf(err); err != nil && kind != noRoom && kind != locked { // without room, the mark that ends a group was not written
		err = fmt.Errorf("commit: %w: %w", errUncertain, err)
	}
	return t.ChangedCategories(), err
}

// change runs an operation. If it is wrong, what it wrote is undone. It returns an error that
// is the whole group's.
func change(t *store.Tx, o *op) error {
	before := *t
	if _, err := t.Exec("SAVEPOINT operation"); err != nil {
		return err
	}
	if o.outcome = o.change(t); o.outcome == nil {
		_, err := t.Exec("RELEASE operation")
		return err
	}
	if kindOf(o.outcome) != statement {
		return o.outcome
	}
	*t = before
	_, err := t.Exec("ROLLBACK TO operation")
	return err
}

// checkFile makes sure that what is written can be found again. SQLite does not
// notice when its file is removed: it would go on writing to a file that has no
// name, and every acknowledgement would be a lie. The look costs 2 us per group.
func (s *Store) checkFile() error {
	file, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(file, s.writer.file) {
		return fmt.Errorf("the database file was removed or replaced while it was in use: %w", errUncertain)
	}
	return nil
}

// A busy server leaves the lock to other processes for a moment now and then: those look
// once a millisecond, and would miss the gaps between its transactions.
const (
	pause      = 2 * time.Millisecond
	pauseEvery = 50 * time.Millisecond
)

// begin begins a transaction, with the database's lock for writing.
func (s *Store) begin() error {
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

// whileLocked runs fn until another process does not hold the lock that it needs. SQLite's own
// way to wait sleeps longer and longer, and would miss the pauses of a busy server.
func (s *Store) whileLocked(fn func() error) error {
	for try := 1; ; try++ {
		if err := fn(); kindOf(err) != locked || try == s.writer.tries {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// logPages is how long the write-ahead log may become before it is moved into the database:
// 4 MB. Longer ones are not faster, because a log that is used again needs no
// growing file.
const logPages = 1000

// logBytes is what is left of the log's file when it begins anew: all of it, unless a
// reader kept the log for long.
const logBytes = 2 * logPages * 4096

// checkpoint moves the log into the database when it has become long, as far as readers let
// it; the next transaction then begins the log anew. Without room that has to wait. It runs
// between two groups, because a log that others append to meanwhile is never done with.
//
// SQLite's own checkpoint throws its result away: pages whose sync has failed may be gone, and
// the next sync, which reports success, would let the log be overwritten that still holds them.
func (s *Store) checkpoint() error {
	w := &s.writer
	pages, err := s.logLength("NOOP")
	if pages < w.moved {
		w.moved = 0 // the log has begun anew
	}
	// What a reader keeps in the log is not tried again with each group: each try
	// sorts the whole log.
	if err == nil && pages-w.moved >= logPages {
		w.moved = pages
		_, err = s.logLength("PASSIVE")
	}
	if err = WithCause(err, s.path); err == nil || stops(err) {
		return err
	}
	s.options.Logger.Warn("the checkpoint failed; the write-ahead log grows until one succeeds; nothing is lost", "error", err)
	return nil
}

// logLength returns how many pages the log has, after a checkpoint of a mode. NOOP does nothing.
func (s *Store) logLength(mode string) (pages int, err error) {
	var busy, moved int
	err = s.writer.conn.Query(func(scan store.Scan) error { return scan(&busy, &pages, &moved) }, "PRAGMA wal_checkpoint("+mode+")")
	return pages, err
}
