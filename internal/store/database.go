package store

import (
	"cmp"
	"crypto/sha256"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"
	"time"

	"petcat"
)

// Scan copies the columns of one row into pointers to int64, string, bool, int or []byte, or to
// pointers to these types for columns that may be NULL.
type Scan func(into ...any) error

// Conn runs statements on a database, in one transaction or each in its own. Placeholders are
// $1, $2 and so on. Arguments are nil, []byte, or values whose kind is an integer, a string or a
// bool, such as [petcat.KeyID].
type Conn interface {
	// Exec runs a statement that returns no rows, and returns the number of changed rows.
	Exec(query string, args ...any) (changed int64, err error)
	// Run runs a statement whose number of changed rows does not matter. PostgreSQL gets it
	// with the next Exec or query of the transaction or with its commit, which then returns its
	// error. So it costs no round trip.
	Run(query string, args ...any) error
	// Query calls row for every row of the result, and stops at the first error.
	Query(row func(Scan) error, query string, args ...any) error
	// QueryEach runs a query once for each row of arguments, in order, and calls row for
	// every row of the results with the index of its arguments. It takes one round trip.
	QueryEach(row func(i int, scan Scan) error, query string, args [][]any) error
}

// Work describes a transaction.
type Work struct {
	Doing string // for the log, if the transaction fails
	// Account made the request; 0 for an operator. The write queue uses it to keep one
	// account from filling the queue.
	Account petcat.AccountID
}

// Dialect is what differs between the databases. Their clock is unixepoch in both: package postgres
// has a function with this name.
type Dialect struct {
	// RowLocks is true if several transactions write at the same time and lock rows. SQLite has
	// one writer, and no syntax for locks.
	RowLocks bool
	// CleanRows is the maximum number of rows that one statement deletes, so that other
	// writes do not wait for long.
	CleanRows int
}

// skipLocked excludes rows that another transaction is changing.
const skipLocked = `FOR UPDATE SKIP LOCKED`

// Text returns a statement as the database runs it: without skipLocked if it has no row locks.
func (d Dialect) Text(query string) string {
	if d.RowLocks {
		return query
	}
	return strings.ReplaceAll(query, skipLocked, "")
}

// columns returns the destinations of a row's columns: those of a [Scan], and the types below.
type columns[T any] func(*T) []any

// oneColumn is the destination of rows with one column.
func oneColumn[T int64 | string](v *T) []any { return []any{v} }

// all returns all rows of a query.
func all[T any](c Conn, into columns[T], query string, args ...any) (rows []T, err error) {
	err = c.Query(func(scan Scan) error {
		var v T
		err := scan(into(&v)...)
		rows = append(rows, v)
		return err
	}, query, args...)
	return rows, err
}

// one returns the first row of a query. If there is none, it returns the zero value and missing.
func one[T any](c Conn, into columns[T], missing error, query string, args ...any) (v T, err error) {
	rows, err := all(c, into, query, args...)
	if err != nil || len(rows) == 0 {
		return v, cmp.Or(err, missing)
	}
	return rows[0], nil
}

// execRows writes rows in order, by statements with the given beginning and end, of at most size
// rows each. size must be a power of two, so that there are few statements to prepare.
func execRows(c Conn, size int, begin, end string, rows [][]any) error {
	for ; len(rows) > 0; size /= 2 {
		row := ` (?` + strings.Repeat(`, ?`, len(rows[0])-1) + `)`
		text := begin + row + strings.Repeat(`,`+row, size-1) + end
		for ; len(rows) >= size; rows = rows[size:] {
			if err := c.Run(text, slices.Concat(rows[:size]...)...); err != nil {
				return err
			}
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

// insertInto returns the beginning of an INSERT statement for execRows.
func insertInto(table, columns string) string {
	return `INSERT INTO ` + table + ` (` + columns + `) VALUES`
}

// onConflict returns the end of an INSERT statement for execRows that updates rows whose key
// exists. set is the assignment to each other column, with $ for its name.
func onConflict(key, columns, set string) string {
	var all []string
	for column := range strings.SplitSeq(columns, ", ") {
		if !slices.Contains(strings.Split(key, ", "), column) {
			all = append(all, strings.ReplaceAll(set, "$", column))
		}
	}
	return ` ON CONFLICT (` + key + `) DO UPDATE SET ` + strings.Join(all, ", ")
}

// replaced is the assignment of the new value. See [onConflict].
const replaced = `$ = excluded.$`

// conditions are the conditions of a query, joined by AND.
type conditions struct {
	text strings.Builder
	args []any
}

// when adds a condition if wanted is true.
func (c *conditions) when(wanted bool, condition string, values ...any) {
	if wanted {
		c.text.WriteString(" AND " + condition)
		c.args = append(c.args, values...)
	}
}

// page returns a query for the rows that meet the conditions, at most limit of them, and its
// arguments. A limit of 0 means no limit.
func (c *conditions) page(selected, order string, limit int) (query string, args []any) {
	query = selected + ` WHERE true` + c.text.String() + ` ORDER BY ` + order
	if limit == 0 {
		return query, c.args
	}
	return query + ` LIMIT ?`, append(c.args, int64(limit))
}

// hash is a column with a SHA-256.
type hash [sha256.Size]byte

// Scan implements [sql.Scanner].
func (h *hash) Scan(value any) error {
	b, _ := value.([]byte)
	if copy(h[:], b) != len(h) || len(b) != len(h) {
		return fmt.Errorf("a column with a hash has the type %T and %d bytes", value, len(b))
	}
	return nil
}

// Value implements [driver.Valuer].
func (h hash) Value() (driver.Value, error) { return h[:], nil }

// moment is a column with a time in Unix milliseconds. NULL is the zero time.
type moment time.Time

// Scan implements [sql.Scanner].
func (m *moment) Scan(value any) error {
	*m = moment{}
	if ms, ok := value.(int64); ok {
		*m = moment(time.UnixMilli(ms).UTC())
	} else if value != nil {
		return fmt.Errorf("a column with a time has the type %T", value)
	}
	return nil
}

// Value implements [driver.Valuer].
func (m moment) Value() (driver.Value, error) { return millis(time.Time(m)), nil }
