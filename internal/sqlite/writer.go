package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/fault"
	"petcat/internal/groupcommit"
)

// op is one write: the creation of a category, or any other change.
type op struct {
	create  createOp
	change  func(*tx) error // nil: create a category
	outcome error           // of this operation alone
}

// run does the operation's part of a transaction. It returns an error of the
// database; one of the domain goes into the outcome, and must come before
// anything was written.
func (o *op) run(t *tx) error {
	var err error
	if o.change != nil {
		err = o.change(t)
	} else {
		err = o.create.run(t)
	}
	if _, ok := errors.AsType[*petcat.Error](err); ok {
		o.outcome = err
		return nil
	}
	return err
}

// change commits fn in the next group. Whatever fn writes to its surroundings
// counts only when change returns nil.
func (s *Store) change(ctx context.Context, doing string, fn func(*tx) error) error {
	o := &op{change: fn}
	if err := s.group.Submit(ctx, o); err != nil {
		return translate(err, doing)
	}
	return translate(o.outcome, doing)
}

// writer owns the one connection that writes. Only the committer's goroutine
// uses it, and Open before that.
type writer struct {
	db        *sql.DB
	clock     clock.Clock
	conn      *sql.Conn            // nil: to be connected again
	prepared  map[string]*sql.Stmt // on conn, by their text
	committed func([]petcat.RevisedCategory)
	created   []petcat.RevisedCategory // of the group under way
}

func newWriter(path string, c clock.Clock) (*writer, error) {
	db, err := open(dsn(path, "rw", writerPragmas), 1)
	if err != nil {
		return nil, err
	}
	return &writer{db: db, clock: c}, nil
}

func (w *writer) connect(ctx context.Context) error {
	conn, err := w.db.Conn(ctx)
	if err != nil {
		return err
	}
	if err := checkDurability(ctx, conn); err != nil {
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
	return w.db.Close()
}

// checkpoint moves the write-ahead log into the database and empties it.
func (w *writer) checkpoint(ctx context.Context) error {
	_, err := w.conn.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return err
}

// prepare returns a statement, prepared once for each connection. The texts are
// constants, so there are few.
func (w *writer) prepare(query string) (*sql.Stmt, error) {
	if stmt, ok := w.prepared[query]; ok {
		return stmt, nil
	}
	stmt, err := w.conn.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, fmt.Errorf("prepare %q: %w", query, err)
	}
	w.prepared[query] = stmt
	return stmt, nil
}

// commit makes a group durable. It is the committer's function.
func (s *Store) commit(group []*op) error {
	err := s.writer.commit(group)
	if err != nil && severityOf(err) == statement && !isCommitError(err) && len(group) > 1 {
		// One of them is to blame, and the others must not suffer for it: each
		// gets a transaction of its own.
		for _, o := range group {
			if err = s.commitAlone(o); err != nil {
				break
			}
		}
	}
	s.claims.release(group)
	switch {
	case err == nil:
		return nil
	case severityOf(err) == fatal || isCommitError(err):
		s.logger.Error("writing stopped for good: end the program and start it again from what is on the disk", "error", err)
		return groupcommit.Poison(unavailable("nothing can be stored at the moment, and this write may or may not have happened; repeat it later with the same Idempotency-Key", err))
	case severityOf(err) == temporary:
		return unavailable("nothing can be stored at the moment; retry later with the same Idempotency-Key", err)
	default:
		return err
	}
}

// commitAlone commits one operation of a group whose transaction failed. An
// error that concerns it alone becomes its outcome.
func (s *Store) commitAlone(o *op) error {
	o.outcome = nil
	err := s.writer.commit([]*op{o})
	if err != nil && severityOf(err) == statement && !isCommitError(err) {
		o.outcome = err
		return nil
	}
	return err
}

// commitError is an error after which nobody knows whether the group is durable.
type commitError struct{ error }

func (e *commitError) Unwrap() error { return e.error }

func isCommitError(err error) bool {
	_, ok := errors.AsType[*commitError](err)
	return ok
}

// commit runs a group in one transaction. After an error the connection is gone,
// unless the error is fatal: then nothing is touched any more.
func (w *writer) commit(group []*op) error {
	err := w.transact(group)
	if err != nil && severityOf(err) != fatal && !isCommitError(err) {
		w.disconnect()
	}
	if err == nil && len(w.created) > 0 && w.committed != nil {
		w.committed(w.created)
	}
	clear(w.created)
	w.created = w.created[:0]
	return err
}

func (w *writer) transact(group []*op) error {
	// A transaction is never given up half-way because one caller went away.
	ctx := context.Background()
	if w.conn == nil {
		if err := w.connect(ctx); err != nil {
			return fmt.Errorf("connect: %w", err)
		}
	}
	t, err := begin(w)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	for _, o := range group {
		if err := o.run(t); err != nil {
			return err
		}
	}
	if err := t.finish(); err != nil {
		return err
	}
	if err := fault.Hit(fault.BeforeCommit); err != nil {
		return &commitError{err}
	}
	if err := t.exec("COMMIT"); err != nil {
		err = fmt.Errorf("commit: %w", err)
		if severityOf(err) == temporary {
			// The disk had no room for all of the group, so it has no end mark
			// and does not count.
			return err
		}
		return &commitError{err}
	}
	if err := fault.Hit(fault.AfterCommitBeforeReply); err != nil {
		return &commitError{err}
	}
	return nil
}
