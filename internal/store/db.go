package store

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"petcat"
)

// DB is a database: [petcat/internal/sqlite.DB] or [petcat/internal/postgres.DB]. A [Store] has
// one, and the DB knows no operation of the Store. Its methods, and those of a [Tx], return errors of
// the domain, whose text for the log names the operation.
type DB interface {
	// Dialect returns what differs between the kinds of databases.
	Dialect() Dialect
	// Meta returns the identity of the data.
	Meta() Meta
	// NewestRead returns the newest revision that was read. A reader of the counter row calls it
	// before it reads, and then Reached with both revisions: the later one must not be lower.
	NewestRead() petcat.Revision
	Reached(r, before petcat.Revision)
	// Begin begins a transaction that locks the counter row. The caller ends it with Commit or
	// Rollback, soon and without waiting for anything else: other writes wait for it.
	Begin(ctx context.Context, w Work) (*Tx, error)
	// Create commits the creation of a category, a pet or an order, together with other creates.
	Create(ctx context.Context, c *Create) error
	// BeginWrite begins a transaction that does not lock the counter row. A failover to a standby
	// may lose it. It is for usage, heartbeats and sessions.
	BeginWrite(ctx context.Context, doing string) (Write, error)
	// Read runs fn, which reads a few rows. It may run fn more than once.
	Read(ctx context.Context, doing string, fn func(Conn) error) error
	// Each calls row for every row of a query, of any number, and stops at the first error.
	Each(ctx context.Context, doing string, row func(Scan) error, query string, args ...any) error
}

// Database is a DB as the program opens and closes it.
type Database interface {
	DB
	// Check returns an error if the data cannot be read or written now.
	Check(ctx context.Context) error
	// Failed is closed if nothing can be written until the program is restarted. Err then
	// returns the reason.
	Failed() <-chan struct{}
	Err() error
	// Integrity returns one sentence for each damage that the database reports.
	Integrity(ctx context.Context) (findings []string, err error)
	// Backup copies all tables into an empty file, in one snapshot, during concurrent writes.
	Backup(ctx context.Context, to Copy) error
	// Alone calls fn unless another node is in Alone.
	Alone(ctx context.Context, fn func(context.Context) error) error
	Close() error
}

// Row is a row of a result.
type Row interface{ Scan(into ...any) error }

// Scan implements [Row].
func (s Scan) Scan(into ...any) error { return s(into...) }

// queryRow returns the first row of a query, or the error missing if there is none.
func queryRow[T any](c Conn, scan func(Row) (T, error), missing error, query string, args ...any) (T, error) {
	var none T
	rows, err := queryRows(c, scan, query, args...)
	if err != nil {
		return none, err
	}
	if len(rows) == 0 {
		return none, missing
	}
	return rows[0], nil
}

// queryRows returns all rows of a query.
func queryRows[T any](c Conn, scan func(Row) (T, error), query string, args ...any) ([]T, error) {
	var all []T
	err := c.Query(func(row Scan) error {
		v, err := scan(row)
		all = append(all, v)
		return err
	}, query, args...)
	return all, err
}

// queryEach runs a query once for each row of arguments, and returns all rows, in order.
func queryEach[T any](c Conn, scan func(Row) (T, error), query string, args [][]any) ([]T, error) {
	var all []T
	err := c.QueryEach(func(_ int, row Scan) error {
		v, err := scan(row)
		all = append(all, v)
		return err
	}, query, args)
	return all, err
}

// eachRow calls fn for every row of a query; the first row may take long. It stops at the first
// error of fn and returns it unchanged, because it is not a database error.
func eachRow[T any](ctx context.Context, s *Store, doing string, scan func(Row) (T, error), fn func(T) error, query string, args ...any) error {
	var stopped error
	err := s.db.Each(ctx, doing, func(row Scan) error {
		v, err := scan(row)
		if err != nil {
			return err
		}
		if stopped = fn(v); stopped != nil {
			return fmt.Errorf("stopped: %s", stopped.Error()) // without its chain
		}
		return nil
	}, query, args...)
	return cmp.Or(stopped, err)
}

// filter is the conditions of a query that has too many combinations for a constant each.
type filter struct {
	conditions []string
	args       []any
}

// arg adds an argument and returns its placeholder.
func (f *filter) arg(value any) string {
	f.args = append(f.args, value)
	return "$" + strconv.Itoa(len(f.args))
}

// and adds a condition.
func (f *filter) and(condition string) { f.conditions = append(f.conditions, condition) }

// where returns the WHERE clause, "" without conditions.
func (f *filter) where() string {
	if len(f.conditions) == 0 {
		return ""
	}
	return ` WHERE ` + strings.Join(f.conditions, ` AND `)
}

// scanNumber scans a row with one number.
func scanNumber(row Row) (n int64, err error) {
	err = row.Scan(&n)
	return n, err
}

// run is Run.
func (t *Tx) run(query string, args ...any) error { return t.Run(query, args...) }

// reader reads outside a transaction, with a few rows per query.
type reader struct {
	db    DB
	ctx   context.Context //nolint:containedctx // it lives no longer than the call
	doing string
}

// reader returns a Conn for an operation that reads. Each query may have another connection.
func (s *Store) reader(ctx context.Context, doing string) Conn { return reader{s.db, ctx, doing} }

// Query implements [Conn].
func (r reader) Query(row func(Scan) error, query string, args ...any) error {
	return r.QueryEach(func(_ int, scan Scan) error { return row(scan) }, query, [][]any{args})
}

// QueryEach implements [Conn]. A read that broke after its first row is not repeated: row must not
// get a row twice.
func (r reader) QueryEach(row func(int, Scan) error, query string, args [][]any) error {
	answered := false
	var broken error
	return r.db.Read(r.ctx, r.doing, func(c Conn) error {
		if answered {
			return broken
		}
		broken = c.QueryEach(func(i int, scan Scan) error {
			answered = true
			return row(i, scan)
		}, query, args)
		return broken
	})
}

// Exec implements [Conn]. A reader writes nothing.
func (r reader) Exec(string, ...any) (int64, error) { return 0, errReadOnly }

// Run implements [Conn]. A reader writes nothing.
func (r reader) Run(string, ...any) error { return errReadOnly }

var errReadOnly = petcat.Errorf(petcat.CodeServiceUnavailable, "a read tried to write")
