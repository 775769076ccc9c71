package sqlite

import (
	"context"
	"fmt"

	"github.com/petcat-api/petcat/internal/groupcommit"
	"github.com/petcat-api/petcat/internal/store"
)

// transaction is a transaction of package store: a savepoint of the open file transaction.
// From Begin to Commit or Rollback, its caller has the writer. Commit returns when the file's
// transaction is durable.
type transaction struct {
	db     *DB
	ctx    context.Context //nolint:containedctx // of the caller; canceled after the transaction
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
	in, err := t.db.join(t.ctx)
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
	err := t.keep(1)
	t.db.writer.give()
	if err != nil {
		return t.db.writeError(err, t.doing)
	}
	select {
	case <-t.in.done:
		return t.db.writeError(t.in.err, t.doing)
	case <-t.ctx.Done():
	}
	select {
	case <-t.in.done: // if both are, the outcome is known
		return t.db.writeError(t.in.err, t.doing)
	default:
		return t.db.writeError(fmt.Errorf("%w: %w", groupcommit.ErrAbandoned, context.Cause(t.ctx)), t.doing)
	}
}

// keep adds n changes to the file's transaction. The first caller that does so starts the commit,
// which waits behind the callers that are waiting for the writer: one sync makes the changes of all
// of them durable.
func (t *transaction) keep(n int) error {
	t.ended = true
	if t.broken == nil {
		_, t.broken = t.in.tx.Exec("RELEASE operation")
	}
	if t.broken != nil {
		return t.db.end(t.in, t.broken)
	}
	t.in.tx.Continue(t.tx)
	if t.in.size == 0 {
		t.db.writer.commits.Go(func() { t.db.commitLater(t.in) })
	}
	t.in.size += n
	return nil
}

// Rollback implements [store.Ending].
func (t *transaction) Rollback() error {
	if t.ended {
		return nil
	}
	t.undo()
	shared := t.in.size > 0
	t.db.writer.give()
	if !shared {
		return nil
	}
	select {
	case <-t.in.done:
		return t.db.writeError(t.in.err, t.doing)
	case <-t.ctx.Done():
		return nil // the caller's context is canceled
	}
}

// undo undoes the changes. An error that is not only a statement's aborts the file's transaction, so that
// [DB.Failed] is closed before the caller returns the error.
func (t *transaction) undo() {
	t.ended = true
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
		t.db.abandon(t.in)
	}
}

// writerConn is the writer's connection in a transaction. It returns domain errors. After an
// error that is not only the statement's, SQLite may have rolled back, and no other statement runs.
type writerConn struct {
	store.Conn

	of *transaction
}

func (c writerConn) observe(err error) error {
	if err == nil {
		return nil
	}
	if kindOf(err) != statement {
		c.of.broken = err
	}
	return c.of.db.writeError(WithCause(err, c.of.db.path), c.of.doing)
}

// usable returns an error if no other statement may run.
func (c writerConn) usable() error {
	if c.of.ended {
		return fmt.Errorf("sqlite: %s: the transaction has ended", c.of.doing)
	}
	return c.observe(c.of.broken)
}

// Exec implements [store.Conn].
func (c writerConn) Exec(query string, args ...any) (int64, error) {
	if err := c.usable(); err != nil {
		return 0, err
	}
	n, err := c.Conn.Exec(query, args...)
	return n, c.observe(err)
}

// Run implements [store.Conn].
func (c writerConn) Run(query string, args ...any) error {
	_, err := c.Exec(query, args...)
	return err
}

// Query implements [store.Conn].
func (c writerConn) Query(row func(store.Scan) error, query string, args ...any) error {
	if err := c.usable(); err != nil {
		return err
	}
	return c.observe(c.Conn.Query(row, query, args...))
}

// QueryEach implements [store.Conn].
func (c writerConn) QueryEach(row func(int, store.Scan) error, query string, args [][]any) error {
	if err := c.usable(); err != nil {
		return err
	}
	return c.observe(c.Conn.QueryEach(row, query, args))
}
