package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/openerror"
	"petcat/internal/store"
)

// op is one write: the creation of a category, or any other change.
type op struct {
	create  *store.Create // nil: change
	change  func(*store.Tx) error
	account petcat.AccountID // whose request it is, 0 for the operator's
	outcome error            // of this operation alone
}

// writer writes, on a connection of its own. Only the committer's goroutine uses it, and Open
// before that.
type writer struct {
	conn                 // whose context never ends: no transaction is given up because a caller went away
	file   os.FileInfo   // what the path named when the store was opened
	tries  int           // how often the lock is tried, once a millisecond
	ended  clock.Reading // when the last group ended
	paused clock.Reading // when the lock was left to others last
	moved  int           // how many pages the log had when moving it was last tried
}

// commit makes a group durable. It is the committer's function.
func (s *Store) commit(group []*op) error {
	changed, err := s.commitTransaction(group)
	if err == nil && len(changed) > 0 && s.options.CategoriesCommitted != nil {
		s.options.CategoriesCommitted(changed)
	}
	if err == nil && s.options.Serving {
		err = s.checkpoint()
	}
	kind := kindOf(err)
	s.refused.Store(kind == openerror.NoRoom || kind == openerror.Unwritable)
	if stops(err) {
		s.options.Logger.Error("writes are stopped after a disk failure: restart the program to recover from what is on disk", "error", err)
	}
	return s.groupError(err)
}

// commitTransaction runs a group in one transaction, and returns the categories that were
// changed.
func (s *Store) commitTransaction(group []*op) (changed []petcat.RevisedCategory, err error) {
	changed, err = s.transact(group)
	ready := err == nil
	if ready {
		err = s.writer.exec("COMMIT")
	}
	s.writer.ended = s.options.Clock.Read()
	if err == nil {
		return changed, nil
	}
	err = WithCause(err, s.path)
	kind := kindOf(err)
	if ready && kind != openerror.NoRoom && kind != openerror.Locked { // without room, the mark that ends a group was not written
		return nil, fmt.Errorf("commit: %w: %w", errUncertain, err)
	}
	if !stops(err) {
		_ = s.writer.exec("ROLLBACK") // SQLite may have done it
	}
	return nil, err
}

// transact does all of a transaction but the commit.
func (s *Store) transact(group []*op) ([]petcat.RevisedCategory, error) {
	w := s.writer
	if err := s.lock(); err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	var n store.Sequences
	if found, err := w.QueryRow(store.SelectSequences, nil, n.Into()...); err != nil {
		return nil, err
	} else if !found {
		return nil, errors.New("the table counter has lost its row")
	}
	t := store.NewTx(w.conn, store.Now(s.options.Clock), n)
	for _, o := range group {
		if err := w.run(t, o); err != nil {
			return nil, err
		}
	}
	return t.ChangedCategories(), errors.Join(t.Finish(), s.checkFile())
}

// run runs an operation. What is wrong with it alone is its outcome, and what it wrote is
// undone; any other error is that of the whole group.
func (w *writer) run(t *store.Tx, o *op) error {
	if o.create != nil {
		// A savepoint would cost creates a third of their rate, and no create is refused
		// after it has written.
		err := t.CreateAll([]*store.Create{o.create})
		o.outcome = o.create.Outcome
		return err
	}
	before := *t
	if err := w.exec("SAVEPOINT operation"); err != nil {
		return err
	}
	if o.outcome = o.change(t); o.outcome != nil {
		if kindOf(o.outcome) != "" {
			return o.outcome
		}
		*t = before
		if err := w.exec("ROLLBACK TO operation"); err != nil {
			return err
		}
	}
	return w.exec("RELEASE operation")
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

// lock begins a transaction, with the database's lock for writing. SQLite's own way to
// wait sleeps longer and longer, and would miss the pauses of a busy server.
func (s *Store) lock() error {
	w := s.writer
	switch now := s.options.Clock.Read(); {
	case now.Since(w.ended) >= pause:
		w.paused = now
	case s.options.Serving && now.Since(w.paused) >= pauseEvery:
		time.Sleep(pause)
		w.paused = s.options.Clock.Read()
	}
	for try := 1; ; try++ {
		err := w.exec("BEGIN IMMEDIATE")
		if kindOf(err) != openerror.Locked || try == w.tries {
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
	w := s.writer
	pages, err := w.logLength("NOOP")
	if pages < w.moved {
		w.moved = 0 // the log has begun anew
	}
	// What a reader keeps in the log is not tried again with each group: each try
	// sorts the whole log.
	if err == nil && pages-w.moved >= logPages {
		w.moved = pages
		_, err = w.logLength("PASSIVE")
	}
	if err = WithCause(err, s.path); err == nil || stops(err) {
		return err
	}
	s.options.Logger.Warn("the checkpoint failed; the write-ahead log grows until one succeeds; nothing is lost", "error", err)
	return nil
}

// logLength returns how many pages the log has, after a checkpoint of a mode. NOOP does nothing.
func (w *writer) logLength(mode string) (pages int, err error) {
	var busy, moved int
	_, err = w.QueryRow("PRAGMA wal_checkpoint("+mode+")", nil, &busy, &pages, &moved)
	return pages, err
}

// exec runs a statement of the transaction itself.
func (w *writer) exec(query string) error {
	_, err := w.Exec(query)
	return err
}
