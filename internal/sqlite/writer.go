package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
	"time"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/datadir"
	"petcat/internal/store"
)

// op is one write: the creation of a category, or any other change.
type op struct {
	create  *store.Create
	change  func(*store.Tx) error // nil: create a category
	account petcat.AccountID      // whose request it is, 0 for the operator's
	outcome error                 // of this operation alone
}

func (o *op) owner() uint64 { return uint64(o.account) }

// writer owns the one connection that writes. Only the committer's goroutine
// uses it, and Open before that.
type writer struct {
	// life never ends: a transaction is not given up half-way because one of its
	// callers went away.
	life      context.Context //nolint:containedctx // the store is its own request
	path      string
	file      os.FileInfo // what path named when the store was opened
	db        *sql.DB
	clock     clock.Clock
	turn      *datadir.Turn
	polite    bool                 // lets others go first who want their turn
	gap       time.Duration        // how long it lets others go first at most
	timeout   time.Duration        // how long the lock is waited for
	conn      *sql.Conn            // nil: to be connected again
	prepared  map[string]*sql.Stmt // on conn, by their text
	committed func([]petcat.RevisedCategory)
	tried     int          // how many pages the log had when moving it was last tried
	logged    atomic.Int64 // how many pages the log had after the last group but one
	refused   error        // why nothing may be written, nil for most
}

func newWriter(ctx context.Context, path string, o Options) (*writer, error) {
	file, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	turn, err := o.Dir.Turn()
	if err != nil {
		return nil, err
	}
	db, err := open(dsn(path, "rw", writerPragmas()), 1)
	if err != nil {
		return nil, errors.Join(err, turn.Close())
	}
	return &writer{
		life: context.WithoutCancel(ctx), path: path, file: file, db: db,
		clock: o.Clock, turn: turn, polite: o.Serving, gap: turnGap, timeout: timeout,
	}, nil
}

func (w *writer) connect(ctx context.Context) error {
	conn, err := w.db.Conn(ctx)
	if err != nil {
		return err
	}
	if err := checkDurability(ctx, conn); err != nil {
		return errors.Join(err, conn.Close())
	}
	// From here on lock waits, and nothing else has to.
	if _, err := conn.ExecContext(ctx, "PRAGMA busy_timeout = 0"); err != nil {
		return errors.Join(err, conn.Close())
	}
	w.conn, w.prepared = conn, make(map[string]*sql.Stmt)
	return nil
}

// disconnect throws the connection away, which rolls back whatever it had begun,
// whatever state an error left it in.
func (w *writer) disconnect() {
	if w.conn == nil {
		return
	}
	for _, stmt := range w.prepared {
		_ = stmt.Close()
	}
	_ = w.conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = w.conn.Close()
	w.conn, w.prepared = nil, nil
}

func (w *writer) close() error {
	w.disconnect()
	return errors.Join(w.db.Close(), w.turn.Close())
}

// errMoved says that the database is no longer where it was.
var errMoved = errors.New("the database file was removed or replaced while it was in use")

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

const (
	// lockPoll is how often the lock of the database is tried again.
	lockPoll = time.Millisecond
	// turnGap is how long a server keeps away from the lock at most, when others
	// want it: many times as long as they need to see that, because a busy
	// machine wakes them late.
	turnGap = 25 * time.Millisecond
)

// lock begins a transaction, with the database's lock for writing. SQLite's own
// way to wait sleeps longer and longer, and misses the gaps between the
// transactions of a busy server. A server lets others go first when they want it.
func (w *writer) lock() error {
	if w.refused != nil {
		return w.refused
	}
	if w.polite {
		w.poll(w.gap, func() bool { return !w.turn.Wanted() })
	}
	err := w.tryLock()
	if !isBusy(err) {
		return err
	}
	defer w.turn.Release()
	w.poll(w.timeout, func() bool {
		if !w.polite {
			w.turn.Want()
		}
		err = w.tryLock()
		return !isBusy(err)
	})
	return err
}

// poll looks until something holds, but no longer than it is told.
func (w *writer) poll(atMost time.Duration, holds func() bool) {
	if holds() {
		return
	}
	ctx, cancel := context.WithTimeout(w.life, atMost)
	defer cancel()
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if holds() {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

func (w *writer) tryLock() error { return w.exec("BEGIN IMMEDIATE") }

// exec runs a statement of the transaction itself.
func (w *writer) exec(query string) error {
	stmt, err := w.prepare(query) //nolint:sqlclosecheck // closed with its connection
	if err != nil {
		return err
	}
	_, err = stmt.ExecContext(w.life)
	return err
}

// prepare returns a statement, prepared once for each connection. The texts are
// constants, so there are few.
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
