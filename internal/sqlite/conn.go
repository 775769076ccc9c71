package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"time"

	driversqlite "modernc.org/sqlite"

	"petcat/internal/store"
)

const (
	// timeout is how long a lock is waited for that another process holds: longer
	// than any of its transactions lasts.
	timeout = 5 * time.Second
	// maxReaders is how many reads run at once. Lists are answered from memory:
	// only look-ups and the operators' commands read here.
	maxReaders = 4
)

// Settings of each connection. SQLite forgets them with the connection, so they
// are part of the name that every connection is opened by. The journal mode is a
// property of the file: see prepare.

func writerPragmas() []string {
	return append(commonPragmas(timeout), fmt.Sprintf("journal_size_limit(%d)", logBytes))
}

func readerPragmas() []string { return append(commonPragmas(timeout), "query_only(ON)") }

// commonPragmas are those of every connection; it waits so long for locks.
func commonPragmas(wait time.Duration) []string {
	return []string{
		fmt.Sprintf("busy_timeout(%d)", wait.Milliseconds()), "synchronous(FULL)", "foreign_keys(ON)", "temp_store(MEMORY)",
		"wal_autocheckpoint(0)", // see writer.checkpoint
	}
}

// dsn returns the name to open a file by. mode is rw or ro; a read-only
// connection also does not write when it is closed.
func dsn(path, mode string, pragmas []string) string {
	query := url.Values{"mode": {mode}, "_pragma": pragmas}
	if mode != "ro" {
		query.Set("_txlock", "immediate")
	}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: query.Encode()}).String()
}

// open returns a pool of at most n connections, none of which is closed for being
// idle: a new one costs a read of the schema.
func open(name string, n int) (*sql.DB, error) {
	connector, err := driversqlite.NewConnector(name)
	if err != nil {
		return nil, fmt.Errorf("sqlite: name of the database: %w", err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db, nil
}

// statements is what runs statements: the readers, or the writer in its transaction.
type statements interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
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
	err = c.Query(func(scan store.Scan) error {
		if found {
			return nil
		}
		found = true
		return scan(into...)
	}, query, args...)
	return found && err == nil, err
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
		CleanRows: 500,
	}
}

// engine implements [store.Database].
type engine struct{ s *Store }

// submit commits an operation in the next group.
func (e engine) submit(ctx context.Context, o *op) error {
	if err := store.SubmitError(e.s.group.Submit(ctx, o)); err != nil {
		return err
	}
	return o.outcome
}

func (e engine) Change(ctx context.Context, w store.Work, fn func(*store.Tx) error) error {
	return translate(e.submit(ctx, &op{change: fn, account: w.Account}), w.Doing)
}

func (e engine) Create(ctx context.Context, c *store.Create) error {
	return translate(createError(e.submit(ctx, &op{create: c, account: c.Account})), "create category")
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
