package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"
	"time"

	"petcat"
)

// Scan reads the columns of one row: pointers to int64, string, bool, int and
// []byte, and to pointers to them for columns that may be NULL.
type Scan func(into ...any) error

// Conn runs statements on a database, in a transaction or each by itself. Placeholders are
// question marks. Arguments are int64, string, bool, int, []byte, nil, or the pointers that a
// [Scan] takes: a row is written from where it is read into.
type Conn interface {
	// Exec runs a statement that returns no rows, and returns how many rows it changed.
	Exec(query string, args ...any) (changed int64, err error)
	// ExecEach runs a statement once for each row of arguments, in their order. On a
	// database server they are sent with the next statement of the transaction, or with
	// the commit, whose error may be theirs.
	ExecEach(query string, rows [][]any) error
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
	// Create commits the creation of a category, together with other creates.
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

// columns returns where the columns of a row go: pointers as for [Scan], and the types below.
type columns[T any] func(*T) []any

// oneColumn is for rows of one column.
func oneColumn[T int64 | string](v *T) []any { return []any{v} }

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

// one reads one row. Without one, it returns the zero value and the error missing.
func one[T any](c Conn, into columns[T], missing error, query string, args ...any) (v T, err error) {
	rows, err := all(c, into, query, args...)
	if err != nil || len(rows) == 0 {
		return v, cmp.Or(err, missing)
	}
	return rows[0], nil
}

// RowsInStatement is how many rows execRows writes with one statement at most. With more, neither
// database is faster.
const RowsInStatement = 64

// execRows writes rows in their order, by statements that begin and end as given, of at most
// size rows each. Their sizes are powers of two, so that there are few to prepare.
func execRows(c Conn, size int, begin, end string, rows [][]any) error {
	for ; len(rows) > 0; size /= 2 {
		var statements [][]any
		row := ` (?` + strings.Repeat(`, ?`, len(rows[0])-1) + `)`
		text := begin + row + strings.Repeat(`,`+row, size-1) + end
		for ; len(rows) >= size; rows = rows[size:] {
			statements = append(statements, slices.Concat(rows[:size]...))
		}
		if err := c.ExecEach(text, statements); err != nil {
			return err
		}
	}
	return nil
}

// rowsOf returns a row for each element.
func rowsOf[T any](all []T, row columns[T]) [][]any {
	rows := make([][]any, len(all))
	for i := range all {
		rows[i] = row(&all[i])
	}
	return rows
}

// insertInto returns the beginning of a statement of execRows.
func insertInto(table, columns string) string {
	return `INSERT INTO ` + table + ` (` + columns + `) VALUES`
}

// onConflict returns the end of a statement of execRows that updates the rows whose key exists.
// set assigns a new value to the column that it calls $.
func onConflict(key, columns, set string) string {
	var all []string
	for column := range strings.SplitSeq(columns, ", ") {
		if !slices.Contains(strings.Split(key, ", "), column) {
			all = append(all, strings.ReplaceAll(set, "$", column))
		}
	}
	return ` ON CONFLICT (` + key + `) DO UPDATE SET ` + strings.Join(all, ", ")
}

// replaced sets a column to the value of the new row. See [onConflict].
const replaced = `$ = excluded.$`

// conditions are the conditions of a query, joined by AND.
type conditions struct {
	text strings.Builder
	args []any
}

// when adds a condition if it is wanted.
func (c *conditions) when(wanted bool, condition string, values ...any) {
	if wanted {
		c.text.WriteString(" AND " + condition)
		c.args = append(c.args, values...)
	}
}

// page returns the statement that reads one page of the rows that meet the conditions, and
// its arguments. A limit of 0 is none.
func (c *conditions) page(selected, order string, limit int) (query string, args []any) {
	query = selected + ` WHERE true` + c.text.String() + ` ORDER BY ` + order
	if limit == 0 {
		return query, c.args
	}
	return query + ` LIMIT ?`, append(c.args, int64(limit))
}

// hash is the destination of a column with a SHA-256.
type hash [sha256.Size]byte

// Scan implements [sql.Scanner].
func (h *hash) Scan(value any) error {
	b, _ := value.([]byte)
	if copy(h[:], b) != len(h) || len(b) != len(h) {
		return fmt.Errorf("a hash has the type %T and %d bytes", value, len(b))
	}
	return nil
}

// Value implements [driver.Valuer].
func (h hash) Value() (driver.Value, error) { return h[:], nil }

// moment is the destination of a column with Unix milliseconds. NULL is the zero time.
type moment time.Time

// Scan implements [sql.Scanner].
func (m *moment) Scan(value any) error {
	*m = moment{}
	if ms, ok := value.(int64); ok {
		*m = moment(time.UnixMilli(ms).UTC())
	} else if value != nil {
		return fmt.Errorf("a time is of the type %T", value)
	}
	return nil
}

// Value implements [driver.Valuer].
func (m moment) Value() (driver.Value, error) { return millis(time.Time(m)), nil }
