package store

import (
	"context"

	"petcat"
)

// Scan reads the columns of one row: pointers to int64, string, bool, int and
// []byte, and to pointers to them for columns that may be NULL.
type Scan func(into ...any) error

// Conn runs statements on a database, in a transaction or each by itself. Placeholders are
// question marks. Arguments are int64, string, bool, int, []byte or nil.
type Conn interface {
	// Exec runs a statement that returns no rows, and returns how many rows it changed.
	Exec(query string, args ...any) (changed int64, err error)
	// ExecEach runs a statement once for each row of arguments, in their order. On a
	// database server they are sent with the next statement of the transaction, or with
	// the commit, whose error may be theirs.
	ExecEach(query string, rows [][]any) error
	// QueryRow reads one row, and reports whether there is one.
	QueryRow(query string, args []any, into ...any) (found bool, err error)
	// Query calls row for every row, and stops at its first error.
	Query(row func(Scan) error, query string, args ...any) error
	// QueryEach runs a query once for each row of arguments, in their order, and calls row
	// for every row of its result, with the position of its arguments. On a database server
	// that takes one round trip.
	QueryEach(row func(i int, scan Scan) error, query string, args [][]any) error
}

// Work is what a transaction is for.
type Work struct {
	Doing string // for the log, if it fails
	// Account is the account whose request it is, 0 for an operator. The queue of writes
	// needs it, so that one account cannot fill the queue.
	Account petcat.AccountID
}

// Database is what SQLite and PostgreSQL do differently. Its methods return errors of the
// domain; their text for the log says what was being done.
type Database interface {
	// Change runs fn in a transaction, and returns after its commit. It may run fn more
	// than once, and fn may still run after Change has returned an error: use variables
	// that fn sets only if Change returns nil. If fn fails, it is rolled back.
	Change(ctx context.Context, w Work, fn func(*Tx) error) error
	// Create commits the creation of a category, together with other creates. If
	// [groupcommit.Refused] reports true for its error, the create was not attempted.
	// After every attempt, Create calls [Store.Release], even if ctx has ended before.
	Create(ctx context.Context, c *Create) error
	// Write runs fn in a transaction as Change does, without holding the counter's row.
	Write(ctx context.Context, doing string, fn func(Conn) error) error
	// Read runs fn, which reads a few rows. It may run fn more than once.
	Read(ctx context.Context, doing string, fn func(Conn) error) error
	// Each calls row for every row of a query, however many, and stops at its first
	// error.
	Each(ctx context.Context, doing string, row func(Scan) error, query string, args ...any) error
}

// Dialect has the SQL that the databases write differently.
type Dialect struct {
	// Now is the time of the database's clock, in Unix milliseconds.
	Now string
	// SkipLocked ends a query that chooses rows to delete. It leaves out rows that another
	// transaction is deleting.
	SkipLocked string
	// CleanRows is how many rows one statement deletes: few enough that the writes which
	// wait for it do not wait for long.
	CleanRows int
}

// change runs an operator's fn in a transaction, and returns its result after the
// commit.
func change[T any](ctx context.Context, s *Store, doing string, fn func(*Tx) (T, error)) (T, error) {
	return changeFor(ctx, s, Work{Doing: doing}, fn)
}

// changeFor is change with the account whose request it is.
func changeFor[T any](ctx context.Context, s *Store, w Work, fn func(*Tx) (T, error)) (T, error) {
	var v, none T
	access := false
	err := s.db.Change(ctx, w, func(t *Tx) error {
		var err error
		before := t.sequences.Access
		v, err = fn(t)
		access = t.sequences.Access != before
		return err
	})
	if err != nil {
		return none, err // fn may still run, and write to v
	}
	if access {
		s.accessChanged(ctx)
	}
	return v, nil
}

// Exec commits one statement without holding the counter's row, and returns how many rows it
// changed.
func (s *Store) Exec(ctx context.Context, doing, query string, args ...any) (changed int64, err error) {
	var n int64
	err = s.db.Write(ctx, doing, func(c Conn) (err error) {
		n, err = c.Exec(query, args...)
		return err
	})
	if err != nil {
		return 0, err // the transaction may still run, and write to n
	}
	return n, nil
}

// columns returns where the columns of a row go.
type columns[T any] func(*T) []any

// one reads one row, and reports whether there is one.
func one[T any](c Conn, into columns[T], query string, args ...any) (v T, found bool, err error) {
	found, err = c.QueryRow(query, args, into(&v)...)
	return v, found, err
}

// must is one with an error for no row.
func must[T any](c Conn, into columns[T], missing error, query string, args ...any) (T, error) {
	v, found, err := one(c, into, query, args...)
	if err == nil && !found {
		err = missing
	}
	return v, err
}

// all reads all rows.
func all[T any](c Conn, into columns[T], query string, args ...any) (rows []T, err error) {
	err = c.Query(func(scan Scan) error {
		var v T
		err := scan(into(&v)...)
		rows = append(rows, v)
		return err
	}, query, args...)
	return rows, err
}

// find reads one row outside of a transaction, and reports whether there is one.
func find[T any](ctx context.Context, s *Store, doing string, into columns[T], query string, args ...any) (v T, found bool, err error) {
	err = s.db.Read(ctx, doing, func(c Conn) error {
		var err error
		v, found, err = one(c, into, query, args...)
		return err
	})
	return v, found, err
}

// mustFind is find with an error for no row.
func mustFind[T any](ctx context.Context, s *Store, doing string, into columns[T], missing error, query string, args ...any) (T, error) {
	v, found, err := find(ctx, s, doing, into, query, args...)
	var none T
	if err == nil && !found {
		err = missing
	}
	if err != nil {
		return none, err
	}
	return v, nil
}

// list reads some rows outside of a transaction.
func list[T any](ctx context.Context, s *Store, doing string, into columns[T], query string, args ...any) (rows []T, err error) {
	err = s.db.Read(ctx, doing, func(c Conn) error {
		var err error
		rows, err = all(c, into, query, args...)
		return err
	})
	return rows, err
}

// stopped wraps an error of a caller's function, so that it is not taken for one of the
// database.
type stopped struct{ error }

// each calls fn for every row of a query, and stops at its first error, which it
// returns as it is.
func each[T any](ctx context.Context, s *Store, doing string, into columns[T], fn func(T) error, query string, args ...any) error {
	var by error
	err := s.db.Each(ctx, doing, func(scan Scan) error {
		var v T
		if err := scan(into(&v)...); err != nil {
			return err
		}
		if by = fn(v); by != nil {
			return &stopped{by}
		}
		return nil
	}, query, args...)
	if by != nil {
		return by
	}
	return err
}
