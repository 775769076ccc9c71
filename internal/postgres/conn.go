package postgres

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"petcat/internal/store"
)

// querier is a connection or a transaction.
type querier interface {
	Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, query string, args ...any) pgx.Row
	SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults
}

// conn implements [store.Conn].
type conn struct {
	ctx context.Context //nolint:containedctx // it lives no longer than the call
	querier
	texts *texts
	once  bool // each statement runs once: it is not prepared
}

// args puts what the driver is to know of a statement ahead of its arguments.
func (c conn) args(args []any) []any {
	if !c.once {
		return args
	}
	return append([]any{pgx.QueryExecModeExec}, args...)
}

func (c conn) Exec(query string, args ...any) (int64, error) {
	tag, err := c.querier.Exec(c.ctx, c.texts.numbered(query), c.args(args)...)
	return tag.RowsAffected(), err
}

func (c conn) ExecEach(query string, rows [][]any) error {
	if len(rows) == 0 {
		return nil
	}
	var batch pgx.Batch
	for _, args := range rows {
		batch.Queue(c.texts.numbered(query), args...)
	}
	return c.SendBatch(c.ctx, &batch).Close()
}

func (c conn) QueryRow(query string, args []any, into ...any) (found bool, err error) {
	err = c.querier.QueryRow(c.ctx, c.texts.numbered(query), c.args(args)...).Scan(into...)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

func (c conn) Query(row func(store.Scan) error, query string, args ...any) error {
	rows, err := c.querier.Query(c.ctx, c.texts.numbered(query), c.args(args)...)
	if err != nil {
		return err
	}
	return eachRow(rows, row)
}

func (c conn) QueryEach(row func(int, store.Scan) error, query string, args [][]any) error {
	if len(args) == 0 {
		return nil
	}
	var batch pgx.Batch
	for i, values := range args {
		batch.Queue(c.texts.numbered(query), values...).Query(func(rows pgx.Rows) error {
			return eachRow(rows, func(scan store.Scan) error { return row(i, scan) })
		})
	}
	return c.SendBatch(c.ctx, &batch).Close()
}

func eachRow(rows pgx.Rows, row func(store.Scan) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// texts are the statements of package store as PostgreSQL wants them. There are few.
type texts struct{ known sync.Map }

// numbered returns a statement with $1 in the place of its first question mark, and
// so on.
func (t *texts) numbered(query string) string {
	if text, ok := t.known.Load(query); ok {
		return text.(string)
	}
	parts := strings.Split(query, "?")
	var text strings.Builder
	for i, part := range parts {
		if i > 0 {
			text.WriteString("$" + strconv.Itoa(i))
		}
		text.WriteString(part)
	}
	t.known.Store(query, text.String())
	return text.String()
}

// dialect is what only PostgreSQL writes so.
func dialect() store.Dialect {
	return store.Dialect{
		Now: `(extract(epoch FROM clock_timestamp()) * 1000)::int8`,
		// Every node deletes what has expired.
		SkipLocked: ` FOR UPDATE SKIP LOCKED`,
		CleanRows:  cleanRows,
	}
}

// cleanRows keeps each deletion under some milliseconds.
const cleanRows = 1000
