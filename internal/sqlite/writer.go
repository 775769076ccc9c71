package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/store"
)

// writer is the only connection that writes. A caller has it from take to give, and callers get it in the
// order of their calls. All fields except taken and commits belong to the caller that has it.
type writer struct {
	taken   chan struct{} // contains a value while a caller has the writer
	commits sync.WaitGroup

	conn   conn
	open   *fileTx       // the file transaction; nil if there is none
	file   os.FileInfo   // the database file when the store was opened
	log    os.FileInfo   // the write-ahead log at the first commit; nil before
	tries  int           // maximum attempts to lock the database, one per millisecond
	locked bool          // another process held the lock at the end of the last attempts
	ended  clock.Reading // end of the last file transaction
	paused clock.Reading // last time when other processes could take the lock
	moved  int           // pages of the log at the last attempt to move it
}

// take waits for the writer, or until ctx is canceled.
func (w *writer) take(ctx context.Context) error {
	if ctx.Err() != nil { // select would choose at random
		return context.Cause(ctx)
	}
	select {
	case w.taken <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// give lets the next caller have the writer.
func (w *writer) give() { <-w.taken }

// fileTx is a file transaction. The transactions of several callers and the creates of a
// group become durable with it.
type fileTx struct {
	tx    *store.Tx     // with their changes so far
	size  int           // how many were committed
	begun clock.Reading // for the metrics
	done  chan struct{} // closed at the end
	err   error         // of the end; read it after done
}

// The methods of DB below are for callers that have the writer.

// errStopped is the error of writes after a disk failure.
var errStopped = errors.New("writing stopped permanently after a disk failure")

// join returns the open file transaction, or begins one. It waits for other processes no
// longer than ctx.
func (s *DB) join(ctx context.Context) (*fileTx, error) {
	w := &s.writer
	if s.Err() != nil {
		return nil, errStopped
	}
	if w.open != nil {
		return w.open, nil
	}
	if err := s.begin(ctx); err != nil {
		return nil, s.observe(fmt.Errorf("begin: %w", err))
	}
	t := &fileTx{begun: s.options.Clock.Read(), done: make(chan struct{})}
	w.open = t
	n, err := store.ReadSequences(w.conn)
	if err != nil {
		return nil, s.end(t, err)
	}
	t.tx = store.NewTx(w.conn, store.Now(s.options.Clock), n)
	if known := s.known(); s.committed != nil && t.tx.Revision() != known {
		if err := t.tx.ReadChanges(known); err != nil {
			return nil, s.end(t, err)
		}
	}
	return t, nil
}

// known returns the revision up to which OnCategoriesCommitted's function has all changes.
func (s *DB) known() petcat.Revision { return petcat.Revision(s.passedOn.Load()) }

// CatchUp passes category changes by other processes to OnCategoriesCommitted's function. Each write also
// does so. Without such changes, it costs one small query.
func (s *DB) CatchUp(ctx context.Context) (err error) {
	const doing = "read changes by other processes"
	var n store.Sequences
	err = s.Read(ctx, doing, func(q store.Querier) (err error) {
		n, err = store.ReadSequences(q)
		return err
	})
	if err != nil || petcat.Revision(n.Revision) == s.known() {
		return err
	}
	tx, err := s.Begin(ctx, store.Work{Doing: doing})
	if err != nil {
		return err
	}
	defer tx.End(&err)
	return tx.Commit()
}

// create adds a group of creates and commits. It is the function of the group commit.
func (s *DB) create(group []*store.Create) error {
	_ = s.writer.take(s.life)
	defer s.writer.give()
	err := s.createTogether(group)
	if err == nil || kindOf(err) != statement || len(group) == 1 {
		return err
	}
	// One of them is wrong, and the others must not fail with it.
	for i, c := range group {
		if alone := s.createTogether(group[i : i+1]); alone != nil {
			c.Outcome = alone
		}
	}
	return nil
}

// createTogether adds creates and commits, together with the transactions that wait for a commit.
func (s *DB) createTogether(group []*store.Create) error {
	t := &transaction{db: s, ctx: s.life, doing: "create"}
	if err := t.begin(); err != nil {
		return err
	}
	if err := t.tx.CreateAll(group); err != nil {
		t.undo()
		return err
	}
	if err := t.keep(len(group)); err != nil {
		return err
	}
	return s.end(t.in, nil)
}

// commitLater commits a file transaction, unless it has ended.
func (s *DB) commitLater(t *fileTx) {
	_ = s.writer.take(s.life)
	defer s.writer.give()
	if s.writer.open == t {
		_ = s.end(t, nil)
	}
}

// end commits the file transaction, or undoes it after an error. All of its callers get the
// result.
func (s *DB) end(t *fileTx, err error) error {
	if err == nil {
		err = s.commit(t)
	}
	if err != nil {
		_, _ = s.writer.conn.Exec("ROLLBACK") // after some errors SQLite has rolled back itself
	} else if s.options.Serving {
		err = s.checkpoint()
	}
	if s.options.CommitObserved != nil {
		s.options.CommitObserved(t.size, s.options.Clock.Read().Since(t.begun))
	}
	t.err = s.observe(err)
	s.close(t)
	return t.err
}

// abandon undoes an empty file transaction.
func (s *DB) abandon(t *fileTx) {
	if _, err := s.writer.conn.Exec("ROLLBACK"); err != nil {
		_ = s.observe(err)
	}
	s.close(t)
}

func (s *DB) close(t *fileTx) {
	s.writer.open = nil
	s.writer.ended = s.options.Clock.Read()
	close(t.done)
}

// observe records what an error of the file shows about the disk, and returns it.
func (s *DB) observe(err error) error {
	err = WithCause(err, s.path)
	switch kindOf(err) {
	case noRoom, unwritable:
		s.rejected.Store(true)
	case damaged, failing:
		s.stop(err)
	default:
	}
	return err
}

// commit makes the file transaction durable.
func (s *DB) commit(t *fileTx) error {
	if err := errors.Join(t.tx.Finish(), s.checkFile()); err != nil {
		return err
	}
	_, err := s.writer.conn.Exec("COMMIT")
	if err != nil {
		err = WithCause(err, s.path)
		if kind := kindOf(err); kind != noRoom && kind != locked { // on a full disk, the commit record was not written
			err = fmt.Errorf("commit: %w: %w", errUncertain, err)
		}
		return err
	}
	if t.tx.Changed() { // it has written to the disk
		s.rejected.Store(false)
	}
	if s.committed == nil {
		return nil
	}
	if changed := t.tx.ChangedCategories(); len(changed) > 0 {
		s.committed(changed)
	}
	s.passedOn.Store(int64(t.tx.Revision()))
	return nil
}

// checkFile returns an error if the paths of the database and of its log do not name the open files
// any more. SQLite would continue to write to removed files, and the commits would be lost. It takes
// 4 us per group.
func (s *DB) checkFile() error {
	file, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(file, s.writer.file) {
		return fmt.Errorf("the database file was removed or replaced while it was in use: %w", errUncertain)
	}
	log, err := os.Stat(s.path + "-wal")
	if err == nil && s.writer.log == nil {
		s.writer.log = log
	}
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(log, s.writer.log) {
		return errLogRemoved
	}
	return nil
}

// A busy server leaves the lock to other processes for a pause at an interval. They try once a
// millisecond, and would miss the gaps between its transactions.
const (
	pause      = 2 * time.Millisecond
	pauseEvery = 50 * time.Millisecond
)

// begin begins a transaction with the database's write lock.
func (s *DB) begin(ctx context.Context) error {
	w := &s.writer
	switch now := s.options.Clock.Read(); {
	case now.Since(w.ended) >= pause:
		w.paused = now
	case s.options.Serving && now.Since(w.paused) >= pauseEvery:
		time.Sleep(pause)
		w.paused = s.options.Clock.Read()
	}
	return s.whileLocked(ctx, func() error {
		_, err := w.conn.Exec("BEGIN IMMEDIATE")
		return err
	})
}

// whileLocked retries fn while another process holds the lock, until ctx is canceled. SQLite's busy handler
// backs off, and would miss the pauses of a busy server. After it has failed, callers try once each
// until one succeeds: they have already waited in line.
func (s *DB) whileLocked(ctx context.Context, fn func() error) error {
	w := &s.writer
	tries := w.tries
	if w.locked {
		tries = 1
	}
	for try := 1; ; try++ {
		err := fn()
		w.locked = kindOf(err) == locked
		if !w.locked || try >= tries || ctx.Err() != nil {
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

// checkpoint moves a long log into the database, unless readers prevent it; the next transaction then
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
	row := func(scan store.Scan) error { return scan(&busy, &pages, &moved) }
	err = s.writer.conn.Query(row, "PRAGMA wal_checkpoint("+mode+")")
	return pages, err
}
