package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"petcat"
	"petcat/internal/store"
)

// tx is the transaction of one group. It holds the database's write lock from
// its begin, so what it reads stays true until it commits.
type tx struct {
	*store.Tx
	writer *writer
	// Of the operation at hand: whether it has a savepoint before its first write,
	// whether that is set, and whether it has written.
	savepoint, saved, wrote bool
}

func begin(w *writer) (*tx, error) {
	if err := w.lock(); err != nil {
		return nil, err
	}
	t := &tx{writer: w}
	c := conn{w.life, t}
	var n store.Sequences
	switch found, err := c.QueryRow(store.SelectSequences, nil, n.Into()...); {
	case err != nil:
		return nil, err
	case !found:
		return nil, errors.New("the table counter has lost its row")
	}
	t.Tx = store.NewTx(c, store.Now(w.clock), n)
	return t, nil
}

// run runs an operation. It returns an error of the database, which is that of the
// whole group. One of the domain is the outcome of the operation alone, and what the
// operation wrote is undone.
func (t *tx) run(o *op) error {
	// A savepoint would cost creates a third of their rate, and no create is refused
	// after it has written.
	t.savepoint, t.saved, t.wrote = o.change != nil, false, false
	before := t.State()
	err := t.do(o)
	if _, refused := errors.AsType[*petcat.Error](err); !refused {
		if err == nil && t.saved {
			err = t.writer.exec("RELEASE operation")
		}
		return err
	}
	switch {
	case t.saved:
		if err := errors.Join(t.writer.exec("ROLLBACK TO operation"), t.writer.exec("RELEASE operation")); err != nil {
			return err
		}
	case t.wrote:
		return err // each operation of the group gets a transaction of its own
	}
	t.SetState(before)
	o.outcome = err
	return nil
}

func (t *tx) do(o *op) error {
	if o.change != nil {
		return o.change(t.Tx)
	}
	return t.Create(o.create)
}

// ExecContext and the others run the statements of operations. Each is prepared once.
func (t *tx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if t.savepoint && !t.saved {
		if err := t.writer.exec("SAVEPOINT operation"); err != nil {
			return nil, err
		}
		t.saved = true
	}
	t.wrote = true
	stmt, err := t.writer.prepare(query) //nolint:sqlclosecheck // closed with its connection
	if err != nil {
		return nil, err
	}
	return stmt.ExecContext(ctx, args...)
}

// QueryContext implements [statements].
func (t *tx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt, err := t.writer.prepare(query) //nolint:sqlclosecheck // closed with its connection
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, args...)
}

// QueryRowContext implements [statements].
func (t *tx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	stmt, err := t.writer.prepare(query) //nolint:sqlclosecheck // closed with its connection
	if err != nil {
		return t.writer.conn.QueryRowContext(ctx, query, args...) // it says the same
	}
	return stmt.QueryRowContext(ctx, args...)
}
