package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"petcat/internal/store"
)

// statements is what runs statements: the readers, one of them, or the writer's
// transaction.
type statements interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// conn implements [store.Conn].
type conn struct {
	ctx context.Context //nolint:containedctx // it lives no longer than the call
	statements
}

func (c conn) Exec(query string, args ...any) (int64, error) {
	result, err := c.ExecContext(c.ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (c conn) ExecEach(query string, rows [][]any) error {
	for _, args := range rows {
		if _, err := c.ExecContext(c.ctx, query, args...); err != nil {
			return err
		}
	}
	return nil
}

func (c conn) QueryRow(query string, args []any, into ...any) (found bool, err error) {
	err = c.QueryRowContext(c.ctx, query, args...).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

func (c conn) Query(row func(store.Scan) error, query string, args ...any) (err error) {
	rows, err := c.QueryContext(c.ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (c conn) QueryEach(row func(i int, scan store.Scan) error, query string, args [][]any) error {
	for i, values := range args {
		if err := c.Query(func(scan store.Scan) error { return row(i, scan) }, query, values...); err != nil {
			return err
		}
	}
	return nil
}

// dialect is what only SQLite writes so.
func dialect() store.Dialect {
	return store.Dialect{
		Now: `CAST(unixepoch('subsec') * 1000 AS INTEGER)`,
		// A deletion stays under a millisecond: it shares its transaction with creates
		// that somebody waits for.
		CleanRows: cleanRows,
	}
}

const cleanRows = 500

// engine implements [store.Database].
type engine struct{ s *Store }

// Change commits fn in the next group.
func (e engine) Change(ctx context.Context, w store.Work, fn func(*store.Tx) error) error {
	o := &op{change: fn, account: w.Account}
	if err := store.SubmitError(e.s.group.Submit(ctx, o)); err != nil {
		return translate(changeError(err), w.Doing)
	}
	return translate(o.outcome, w.Doing)
}

// Create commits c in the next group.
func (e engine) Create(ctx context.Context, c *store.Create) error {
	o := &op{create: c, account: c.Account}
	err := store.SubmitError(e.s.group.Submit(ctx, o))
	if err == nil {
		err = o.outcome
	}
	return translate(err, "create category")
}

// Exec commits the statement in the next group.
func (e engine) Exec(ctx context.Context, doing, query string, args ...any) (changed int64, err error) {
	var n int64
	err = e.Change(ctx, store.Work{Doing: doing}, func(t *store.Tx) error {
		var err error
		n, err = t.Exec(query, args...)
		return err
	})
	if err != nil {
		return 0, err // n may still be written to
	}
	return n, nil
}

// Write is Change: nobody else can write meanwhile in any case.
func (e engine) Write(ctx context.Context, doing string, fn func(store.Conn) error) error {
	return e.Change(ctx, store.Work{Doing: doing}, func(t *store.Tx) error { return fn(t.Conn) })
}

func (e engine) Read(ctx context.Context, doing string, fn func(store.Conn) error) error {
	return translate(fn(conn{ctx, e.s.readers}), doing)
}

func (e engine) Each(ctx context.Context, doing string, row func(store.Scan) error, query string, args ...any) error {
	return translate(conn{ctx, e.s.readers}.Query(row, query, args...), doing)
}
