package postgres

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

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
	once  bool        // each statement runs once: it is not prepared
	timer *time.Timer // runs while the database is waited for, perRow long; may be nil

	perRow time.Duration
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
	defer rows.Close()
	for rows.Next() {
		if c.timer != nil {
			c.timer.Stop()
		}
		if err := row(rows.Scan); err != nil {
			return err
		}
		if c.timer != nil {
			c.timer.Reset(c.perRow)
		}
	}
	return rows.Err()
}

// rowsOf calls row for every row of one query of a batch.
func rowsOf(row func(store.Scan) error) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		defer rows.Close()
		for rows.Next() {
			if err := row(rows.Scan); err != nil {
				return err
			}
		}
		return rows.Err()
	}
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

// engine implements [store.Database].
type engine struct{ s *Store }

// Create commits c in the next group. While a trial is under way, nothing waits in the
// queue.
func (e engine) Create(ctx context.Context, c *store.Create) error {
	if err := e.s.writer.circuit.check(); err != nil {
		e.s.Release(c)
		return translate(err, "create category")
	}
	err := store.SubmitError(e.s.group.Submit(ctx, c))
	if err == nil {
		err = c.Outcome
	}
	return translate(err, "create category")
}

// Exec runs a statement as one transaction in one round trip.
func (e engine) Exec(ctx context.Context, doing, query string, args ...any) (changed int64, err error) {
	var batch pgx.Batch
	batch.Queue(e.s.pool.settings)
	batch.Queue(e.s.pool.texts.numbered(query), args...).Exec(func(tag pgconn.CommandTag) error {
		changed = tag.RowsAffected()
		return nil
	})
	err = e.s.write(ctx, doing, &batch)
	return changed, err
}

// Write is not tried again. What it locks, nobody who creates waits for.
func (e engine) Write(ctx context.Context, doing string, fn func(store.Conn) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, e.s.pool.patience.write, errNoAnswer)
	defer cancel()
	return translate(e.s.pool.write(ctx, func(ctx context.Context, c *pgx.Conn) error {
		return pgx.BeginFunc(ctx, c, func(t pgx.Tx) error {
			if _, err := t.Exec(ctx, e.s.pool.settings); err != nil {
				return err
			}
			return fn(conn{ctx: ctx, querier: t, texts: &e.s.pool.texts})
		})
	}), doing)
}

func (e engine) Read(ctx context.Context, doing string, fn func(store.Conn) error) error {
	return e.s.pool.read(ctx, doing, func(ctx context.Context, c *pgx.Conn) error {
		return fn(conn{ctx: ctx, querier: c, texts: &e.s.pool.texts})
	})
}

func (e engine) Each(ctx context.Context, doing string, row func(store.Scan) error, query string, args ...any) error {
	return e.s.pool.each(ctx, doing, row, query, args...)
}

// write runs a batch as one transaction in one round trip.
func (s *Store) write(ctx context.Context, doing string, batch *pgx.Batch) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.pool.patience.write, errNoAnswer)
	defer cancel()
	return translate(s.pool.write(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.SendBatch(ctx, batch).Close()
	}), doing)
}
