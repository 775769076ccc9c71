package store

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Scan copies the columns of one row into pointers to int64, string, bool, int or []byte, or to
// pointers to these types for columns that may be NULL.
type Scan func(into ...any) error

// Conn runs statements on a database, in one transaction or each in its own. Placeholders are
// $1, $2 and so on. Arguments are nil, []byte, or values whose kind is an integer, a string or a
// bool, such as [petcat.KeyID].
type Conn interface {
	Querier
	// Exec runs a statement without a result, and returns the number of changed rows.
	Exec(query string, args ...any) (changed int64, err error)
	// Run runs a statement whose number of changed rows does not matter. PostgreSQL gets it
	// with the next Exec or query of the transaction or with its commit, which then returns its
	// error. So it does not cost a round trip.
	Run(query string, args ...any) error
}

// Querier runs queries, as Conn does.
type Querier interface {
	// Query calls row for every row of the result, and stops at the first error.
	Query(row func(Scan) error, query string, args ...any) error
	// QueryEach runs a query once for each row of arguments, in order, and calls row for
	// every row of the results with the index of its arguments. It takes one round trip.
	QueryEach(row func(i int, scan Scan) error, query string, args [][]any) error
}

// Row is a row of a result.
type Row interface{ Scan(into ...any) error }

// Scan implements [Row].
func (s Scan) Scan(into ...any) error { return s(into...) }

// queryRow returns the first row of a query, or the error missing if there is none.
func queryRow[T any](q Querier, scan func(Row) (T, error), missing error, query string, args ...any) (T, error) {
	var none T
	rows, err := queryRows(q, scan, query, args...)
	if err != nil {
		return none, err
	}
	if len(rows) == 0 {
		return none, missing
	}
	return rows[0], nil
}

// queryRows returns all rows of a query.
func queryRows[T any](q Querier, scan func(Row) (T, error), query string, args ...any) ([]T, error) {
	var all []T
	err := q.Query(func(row Scan) error {
		v, err := scan(row)
		all = append(all, v)
		return err
	}, query, args...)
	return all, err
}

// queryEach runs a query once for each row of arguments, and returns all rows, in order.
func queryEach[T any](q Querier, scan func(Row) (T, error), query string, args [][]any) ([]T, error) {
	var all []T
	err := q.QueryEach(func(_ int, row Scan) error {
		v, err := scan(row)
		all = append(all, v)
		return err
	}, query, args)
	return all, err
}

// eachRow calls fn for every row of a query; the first row may take long. It stops at the first
// error of fn and returns it unchanged, because it is not a database error.
func eachRow[T any](
	ctx context.Context, s *Store, doing string, scan func(Row) (T, error), fn func(T) error,
	query string, args ...any,
) error {
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

// reader reads outside a transaction, with a few rows per query.
type reader struct {
	db    DB
	ctx   context.Context //nolint:containedctx // it lives no longer than the call
	doing string
}

// reader returns a Querier for an operation that reads. Each query may have another connection.
func (s *Store) reader(ctx context.Context, doing string) Querier { return reader{s.db, ctx, doing} }

// Query implements [Querier].
func (r reader) Query(row func(Scan) error, query string, args ...any) error {
	return r.QueryEach(func(_ int, scan Scan) error { return row(scan) }, query, [][]any{args})
}

// QueryEach implements [Querier]. A read that broke after its first row is not repeated: row must not
// get a row twice.
func (r reader) QueryEach(row func(int, Scan) error, query string, args [][]any) error {
	found := false
	var broken error
	return r.db.Read(r.ctx, r.doing, func(q Querier) error {
		if found {
			return broken
		}
		broken = q.QueryEach(func(i int, scan Scan) error {
			found = true
			return row(i, scan)
		}, query, args)
		return broken
	})
}
