package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/petcat-api/petcat/internal/store"
)

const (
	// timeout is the maximum wait for another process's lock. No transaction lasts longer.
	timeout = 5 * time.Second
	// maxReaders is the maximum number of concurrent reads. Lists are served from memory, so
	// there are few.
	maxReaders = 4
)

// open returns a pool of at most n connections to a file. It keeps idle connections, because a new
// one reads the schema. mode is rw, ro or immutable: a read-only connection does not checkpoint when it
// is closed, and immutable is a read-only file that does not change, whose journal or log SQLite does not
// look for. Settings are per connection, so they are part of the data source name.
func open(path, mode string, n int, settings ...string) *sql.DB {
	query := url.Values{"mode": {mode}, "_pragma": settings, "_txlock": {"immediate"}}
	if mode == "immutable" {
		query.Set("mode", "ro")
		query.Set("immutable", "1")
	}
	name := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: query.Encode()}
	db, _ := sql.Open("sqlite", name.String()) // only an unknown driver is an error
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db
}

// settings returns the settings of a connection to a file that other processes may use; wait is the
// maximum wait for their locks.
func settings(wait time.Duration) []string {
	return []string{
		fmt.Sprintf("busy_timeout(%d)", wait.Milliseconds()),
		"synchronous(FULL)",
		"foreign_keys(ON)",
		"temp_store(MEMORY)",
		"wal_autocheckpoint(0)", // see DB.checkpoint
		fmt.Sprintf("journal_size_limit(%d)", logBytes),
	}
}

// statements runs statements: the reader pool, or a prepared connection.
type statements interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// prepared is a pool of one connection that prepares each statement once. SQLite takes longer to
// parse most of them than to run them.
type prepared struct {
	db   *sql.DB
	kept map[string]*sql.Stmt
}

func newPrepared(db *sql.DB) prepared { return prepared{db, make(map[string]*sql.Stmt)} }

func (p prepared) statement(ctx context.Context, query string) (*sql.Stmt, error) {
	if stmt := p.kept[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := p.db.PrepareContext(ctx, unnumbered(query))
	if err == nil {
		p.kept[query] = stmt // until the pool is closed
	}
	return stmt, err
}

// unnumbered replaces the placeholders $1, $2 and so on by question marks if they are in this order.
// SQLite stores numbers as names and searches all of them for each argument, which makes create groups
// 1.2 times as slow.
func unnumbered(query string) string {
	parts := strings.Split(query, "$")
	for i, part := range parts[1:] {
		rest := strings.TrimLeft(part, "0123456789")
		if part[:len(part)-len(rest)] != strconv.Itoa(i+1) {
			return query
		}
		parts[i+1] = rest
	}
	return strings.Join(parts, "?")
}

func (p prepared) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	stmt, err := p.statement(ctx, query) //nolint:sqlclosecheck // it is used again
	if err != nil {
		return nil, err
	}
	return stmt.ExecContext(ctx, args...)
}

func (p prepared) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt, err := p.statement(ctx, query) //nolint:sqlclosecheck // it is used again
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, args...)
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

func (c conn) Run(query string, args ...any) error {
	_, err := c.ExecContext(c.ctx, query, args...)
	return err
}

func (c conn) Query(row func(store.Scan) error, query string, args ...any) error {
	rows, err := c.QueryContext(c.ctx, query, args...)
	return eachRow(row, rows, err)
}

func (c conn) QueryEach(row func(i int, scan store.Scan) error, query string, args [][]any) error {
	for i, values := range args {
		err := c.Query(func(scan store.Scan) error { return row(i, scan) }, query, values...)
		if err != nil {
			return err
		}
	}
	return nil
}

// eachRow calls row for every row of a result, and closes the result.
func eachRow(row func(store.Scan) error, rows *sql.Rows, err error) error {
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Dialect implements [store.DB].
func (*DB) Dialect() store.Dialect {
	return store.Dialect{
		// A deletion takes less than a millisecond: it shares a transaction with creates.
		CleanRows: 500,
	}
}
