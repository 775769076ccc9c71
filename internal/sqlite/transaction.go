package sqlite

import (
	"context"
	"fmt"

	"petcat/internal/groupcommit"
	"petcat/internal/store"
)

// transaction is a transaction of package store: a savepoint of the open transaction of the file.
// From Begin to Commit or Rollback, its caller has the writer. Commit returns when the file's
// transaction is durable.
type transaction struct {
	db     *DB
	ctx    context.Context //nolint:containedctx // of the caller; it ends with the transaction
	doing  string
	in     *fileTx
	tx     *store.Tx
	ended  bool
	broken error // the first error of a statement that is not only the statement's
}

// Begin implements [store.DB].
func (s *DB) Begin(ctx context.Context, w store.Work) (*store.Tx, error) {
	if err := s.line.Join(uint64(w.Account)); err != nil {
		return nil, s.writeError(err, w.Doing)
	}
	err := s.writer.take(ctx)
	s.line.Leave(uint64(w.Account))
	if err != nil {
		return nil, store.Unavailable("the write waited too long, and nothing was changed; retry it later", err)
	}
	t := &transaction{db: s, ctx: ctx, doing: w.Doing}
	if err := t.begin(); err != nil {
		s.writer.give()
		return nil, s.writeError(err, w.Doing)
	}
	return t.tx, nil
}

func (t *transaction) begin() error {
	in, err := t.db.join()
	if err != nil {
		return err
	}
	t.in = in
	if _, err := in.tx.Exec("SAVEPOINT operation"); err != nil {
		return t.db.end(in, err)
	}
	t.tx = in.tx.Begun(writerConn{in.tx.Conn, t}, t)
	return nil
}

// Commit implements [store.Ending].
func (t *transaction) Commit() error {
	if t.ended {
		return fmt.Errorf("sqlite: %s: the transaction has ended", t.doing)
	}
	t.ended = true
	err := t.keep()
	t.db.writer.give()
	if err != nil {
		return t.db.writeError(err, t.doing)
	}
	select {
	case <-t.in.done:
		return t.db.writeError(t.in.err, t.doing)
	case <-t.ctx.Done():
		return t.db.writeError(fmt.Errorf("%w: %w", groupcommit.ErrAbandoned, context.Cause(t.ctx)), t.doing)
	}
}

// keep adds the changes to the file's transaction. The first caller that does so starts the commit,
// which waits behind the callers that are waiting for the writer: one sync makes the changes of all
// of them durable.
func (t *transaction) keep() error {
	if t.broken == nil {
		_, t.broken = t.in.tx.Exec("RELEASE operation")
	}
	if t.broken != nil {
		return t.db.end(t.in, t.broken)
	}
	t.in.tx.Continue(t.tx)
	t.in.size++
	if t.in.size == 1 {
		t.db.writer.commits.Go(func() { t.db.commitLater(t.in) })
	}
	return nil
}

// Rollback implements [store.Ending]. After an error that is not only a statement's, the file's
// transaction ends with it, so that [DB.Failed] is closed before the caller returns the error.
func (t *transaction) Rollback() {
	if t.ended {
		return
	}
	t.ended = true
	defer t.db.writer.give()
	if t.broken == nil {
		_, t.broken = t.in.tx.Exec("ROLLBACK TO operation")
	}
	if t.broken == nil {
		_, t.broken = t.in.tx.Exec("RELEASE operation")
	}
	switch {
	case t.broken != nil:
		_ = t.db.end(t.in, t.broken)
	case t.in.size == 0:
		t.db.undo(t.in)
	}
}

// writerConn is the writer's connection in a transaction. It returns errors of the domain. After an
// error that is not only the statement's, SQLite may have rolled back, and no other statement runs.
type writerConn struct {
	store.Conn

	of *transaction
}

func (c writerConn) note(err error) error {
	if err == nil {
		return nil
	}
	if kindOf(err) != statement {
		c.of.broken = err
	}
	return c.of.db.writeError(WithCause(err, c.of.db.path), c.of.doing)
}

// Exec implements [store.Conn].
func (c writerConn) Exec(query string, args ...any) (int64, error) {
	if c.of.broken != nil {
		return 0, c.note(c.of.broken)
	}
	n, err := c.Conn.Exec(query, args...)
	return n, c.note(err)
}

// Run implements [store.Conn].
func (c writerConn) Run(query string, args ...any) error {
	_, err := c.Exec(query, args...)
	return err
}

// Query implements [store.Conn].
func (c writerConn) Query(row func(store.Scan) error, query string, args ...any) error {
	if c.of.broken != nil {
		return c.note(c.of.broken)
	}
	return c.note(c.Conn.Query(row, query, args...))
}

// QueryEach implements [store.Conn].
func (c writerConn) QueryEach(row func(int, store.Scan) error, query string, args [][]any) error {
	if c.of.broken != nil {
		return c.note(c.of.broken)
	}
	return c.note(c.Conn.QueryEach(row, query, args))
}
