package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/petcat-api/petcat/internal/store"
)

// conn implements [store.Conn]. It queues statements until a result is needed; they then share a
// round trip.
type conn struct {
	ctx    context.Context //nolint:containedctx // it lives no longer than the call
	to     *pgx.Conn
	queued *pgx.Batch
}

func (s *DB) conn(ctx context.Context, to *pgx.Conn) *conn {
	return &conn{ctx, to, new(pgx.Batch)}
}

func (c *conn) queue(query string, args ...any) *pgx.QueuedQuery {
	return c.queued.Queue(query, args...)
}

// flush sends the queued statements. The server skips those after the first error.
func (c *conn) flush() error {
	if c.queued.Len() == 0 {
		return nil
	}
	batch := c.queued
	c.queued = new(pgx.Batch)
	return c.to.SendBatch(c.ctx, batch).Close()
}

func (c *conn) Exec(query string, args ...any) (changed int64, err error) {
	c.queue(query, args...).Exec(func(tag pgconn.CommandTag) error {
		changed = tag.RowsAffected()
		return nil
	})
	return changed, c.flush()
}

func (c *conn) Run(query string, args ...any) error {
	c.queue(query, args...).Exec(func(pgconn.CommandTag) error { return nil })
	return nil
}

func (c *conn) Query(row func(store.Scan) error, query string, args ...any) error {
	return c.QueryEach(func(_ int, scan store.Scan) error { return row(scan) }, query, [][]any{args})
}

func (c *conn) QueryEach(row func(int, store.Scan) error, query string, args [][]any) error {
	for i, values := range args {
		c.queue(query, values...).Query(func(rows pgx.Rows) error {
			defer rows.Close()
			for rows.Next() {
				if err := row(i, rows.Scan); err != nil {
					return err
				}
			}
			return rows.Err()
		})
	}
	return c.flush()
}

// commit sends the queued statements and commits. Its error is a [commitError] if the server may
// have committed.
func (c *conn) commit() error {
	committing := false
	c.queue("commit").Fn = func(results pgx.BatchResults) error {
		committing = true // all queued statements succeeded
		tag, err := results.Exec()
		if err == nil && tag.String() != "COMMIT" { // a statement had failed before
			committing = false
			return errRolledBack
		}
		return err
	}
	marks := c.to.PgConn().CustomData()
	delete(marks, waitCanceled)
	err := c.flush()
	if err == nil && marks[waitCanceled] != nil {
		err = &connError{errNotReplicated, lost}
	}
	if err != nil && !errors.Is(err, errRolledBack) && (committing || sqlState(err) == "") {
		return &commitError{fmt.Errorf("commit: %w", err)}
	}
	return err
}

// errRolledBack: an operation ignored the error of a statement, and PostgreSQL rolled back.
var errRolledBack = errors.New("the transaction was rolled back, because a statement had failed")

// waitCanceled is set on a connection if a commit stopped waiting for a synchronous standby. The
// server then reports success and sends a warning.
const waitCanceled = "wait canceled"

// onNotice sets waitCanceled. It identifies the warning by its routine, because the text is
// translated and the SQLSTATE is the same for all warnings.
func onNotice(c *pgconn.PgConn, n *pgconn.Notice) {
	if n.Routine == "SyncRepWaitForLSN" {
		c.CustomData()[waitCanceled] = true
	}
}

// Dialect implements [store.DB].
func (*DB) Dialect() store.Dialect {
	return store.Dialect{
		RowLocks:  true,
		CleanRows: 1000, // a deletion takes some milliseconds
	}
}
