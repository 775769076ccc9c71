package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/store"
)

// op is one write: the creation of a category, or any other change.
type op struct {
	create  *store.Create
	change  func(*store.Tx) error // nil: create a category
	account petcat.AccountID      // whose request it is, 0 for the operator's
	outcome error                 // of this operation alone
}

// writer owns the one connection that writes. Only the committer's goroutine
// uses it, and Open before that.
type writer struct {
	// life never ends: a transaction is not given up half-way because one of its
	// callers went away.
	life     context.Context //nolint:containedctx // the store is its own request
	path     string
	file     os.FileInfo // what path named when the store was opened
	db       *sql.DB
	conn     *sql.Conn
	prepared map[string]*sql.Stmt // on conn, by their text
	clock    clock.Clock
	serving  bool
	tries    int           // how often the lock is tried, once a millisecond
	ended    clock.Reading // when the last group ended
	paused   clock.Reading // when the lock was left to others last
	moved    int           // how many pages the log had when moving it was last tried
}

func newWriter(ctx context.Context, db *sql.DB, path string, o Options) (*writer, error) {
	file, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	w := &writer{
		life: context.WithoutCancel(ctx), path: path, file: file, db: db, conn: conn, prepared: make(map[string]*sql.Stmt),
		clock: o.Clock, serving: o.Serving, tries: int(timeout / time.Millisecond),
	}
	return w, w.exec("PRAGMA busy_timeout = 0") // from here on, lock waits
}

func (w *writer) close() error {
	for _, stmt := range w.prepared {
		_ = stmt.Close()
	}
	return errors.Join(w.conn.Close(), w.db.Close())
}

// commit runs a group in one transaction, and returns the categories that were changed.
func (w *writer) commit(group []*op) (changed []petcat.RevisedCategory, err error) {
	changed, err = w.transact(group)
	w.ended = w.clock.Read()
	if err = withCause(err, w.path); err != nil && classOf(err) < damaged {
		_ = w.exec("ROLLBACK") // SQLite may have done it
	}
	return changed, err
}

func (w *writer) transact(group []*op) ([]petcat.RevisedCategory, error) {
	if err := w.lock(); err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	c := conn{w.life, w}
	var n store.Sequences
	switch found, err := c.QueryRow(store.SelectSequences, nil, n.Into()...); {
	case err != nil:
		return nil, err
	case !found:
		return nil, errors.New("the table counter has lost its row")
	}
	t := store.NewTx(c, store.Now(w.clock), n)
	for _, o := range group {
		if err := w.run(t, o); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(t.Finish(), w.checkFile()); err != nil {
		return nil, err
	}
	err := withCause(w.exec("COMMIT"), w.path)
	if c := classOf(err); err != nil && c != full && c != locked {
		// Without room, the mark that ends a group was not written.
		return nil, fmt.Errorf("commit: %w: %w", errUnknown, err)
	}
	return t.ChangedCategories(), err
}

// run runs an operation. It returns an error of the database, which is that of the
// whole group. One of the domain is the outcome of the operation alone, and what the
// operation wrote is undone.
func (w *writer) run(t *store.Tx, o *op) error {
	before := t.State()
	if o.change == nil {
		// A savepoint would cost creates a third of their rate, and no create is refused
		// after it has written.
		o.outcome = t.Create(o.create)
	} else if err := w.exec("SAVEPOINT operation"); err != nil {
		return err
	} else {
		o.outcome = o.change(t)
	}
	if o.outcome != nil {
		if _, refused := errors.AsType[*petcat.Error](o.outcome); !refused {
			return o.outcome
		}
		t.SetState(before)
	}
	if o.change == nil {
		return nil
	}
	if o.outcome != nil {
		if err := w.exec("ROLLBACK TO operation"); err != nil {
			return err
		}
	}
	return w.exec("RELEASE operation")
}

// checkFile makes sure that what is written can be found again. SQLite does not
// notice when its file is removed: it would go on writing to a file that has no
// name, and every acknowledgement would be a lie. The look costs 2 us per group.
func (w *writer) checkFile() error {
	file, err := os.Stat(w.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(file, w.file) {
		return errMoved
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
func (w *writer) lock() error {
	switch now := w.clock.Read(); {
	case now.Since(w.ended) >= pause:
		w.paused = now
	case w.serving && now.Since(w.paused) >= pauseEvery:
		time.Sleep(pause)
		w.paused = w.clock.Read()
	}
	for try := 1; ; try++ {
		err := w.exec("BEGIN IMMEDIATE")
		if classOf(err) != locked || try == w.tries {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// Only the writer moves the write-ahead log into the database, and looks at what comes of
// it; settle does so before. SQLite's own checkpoint throws its result away: pages whose
// sync has failed may be gone, and the next sync, which reports success, would let the log
// be overwritten that still holds them.

// logPages is how long the log may become before it is moved into the database:
// 4 MB. Longer ones are not faster, because a log that is used again needs no
// growing file.
const logPages = 1000

// logBytes is what is left of the log's file when it begins anew: all of it, unless a
// reader kept the log for long.
const logBytes = 2 * logPages * 4096

// checkpoint moves the log into the database when it has become long, as far as
// readers let it; the next transaction then begins the log anew. It runs between
// two groups, because a log that others append to meanwhile is never done with.
func (w *writer) checkpoint() error {
	pages, err := w.checkpointBy("NOOP")
	if err != nil {
		return err
	}
	if pages < w.moved {
		w.moved = 0 // the log has begun anew
	}
	// What a reader keeps in the log is not tried again with each group: each try
	// sorts the whole log.
	if pages-w.moved < logPages {
		return nil
	}
	w.moved = pages
	_, err = w.checkpointBy("PASSIVE")
	return withCause(err, w.path)
}

func (w *writer) checkpointBy(mode string) (pages int, err error) {
	var busy, moved int
	_, err = conn{w.life, w}.QueryRow("PRAGMA wal_checkpoint("+mode+")", nil, &busy, &pages, &moved)
	return pages, err
}

// exec runs a statement of the transaction itself.
func (w *writer) exec(query string) error {
	_, err := w.ExecContext(w.life, query)
	return err
}

// ExecContext implements [statements].
func (w *writer) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	stmt, err := w.prepare(query) //nolint:sqlclosecheck // closed with its connection
	if err != nil {
		return nil, err
	}
	return stmt.ExecContext(ctx, args...)
}

// QueryContext implements [statements].
func (w *writer) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt, err := w.prepare(query) //nolint:sqlclosecheck // closed with its connection
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, args...)
}

// prepare returns a statement, prepared once. The texts are constants, so there are few.
func (w *writer) prepare(query string) (*sql.Stmt, error) {
	if stmt, ok := w.prepared[query]; ok {
		return stmt, nil
	}
	stmt, err := w.conn.PrepareContext(w.life, query)
	if err != nil {
		return nil, fmt.Errorf("prepare %q: %w", query, err)
	}
	w.prepared[query] = stmt
	return stmt, nil
}
