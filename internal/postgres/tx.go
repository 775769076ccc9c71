package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"petcat"
)

// tx is the transaction of one change of an account, a key or a ban. It holds the
// counter's row from its begin, so what it reads stays true until it commits.
type tx struct {
	ctx      context.Context //nolint:containedctx // it lives no longer than the call
	tx       pgx.Tx
	now      time.Time // in whole milliseconds
	counters lastNumbers
	before   lastNumbers // as they were read
	chain    chain
}

// lastNumbers are the last ones given out, as in the row of the table counter.
type lastNumbers struct {
	revision, access, account, key int64
}

// chain is the end of the audit log, read when it is first needed.
type chain struct {
	known bool
	end   petcat.AuditChain
}

// change runs fn in a transaction. Whatever fn writes to its surroundings counts
// only when change returns nil. It is not tried again: after its first answer
// the connection is known to work, and what was lost after that may have happened.
func (s *Store) change(ctx context.Context, doing string, fn func(*tx) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, writeTimeout, errNoAnswer)
	defer cancel()
	begun := false
	try := func() error {
		return s.pool.write(ctx, func(ctx context.Context, conn *pgx.Conn) error {
			t, err := begin(ctx, conn, now(s.clock))
			if err != nil {
				return err
			}
			begun = true
			return t.run(fn)
		})
	}
	err := try()
	if severityOf(err) == lost && !begun && ctx.Err() == nil {
		s.pool.pool.Reset() // see pool.read
		err = try()
	}
	if maybeCommitted(err) {
		return unavailable("the database did not answer, and the change may have happened; look before you make it again", fmt.Errorf("%w: %w", petcat.ErrOutcomeUnknown, err))
	}
	return translate(err, doing)
}

// begin opens a transaction and takes the counter's row.
func begin(ctx context.Context, conn *pgx.Conn, now time.Time) (*tx, error) {
	const query = `SELECT revision, access_revision, account_id, key_id FROM counter WHERE id = 1 FOR UPDATE`
	t := &tx{ctx: ctx, now: now}
	var err error
	if t.tx, err = conn.Begin(ctx); err != nil {
		return nil, err
	}
	var batch pgx.Batch
	batch.Queue(settings)
	batch.Queue(query).QueryRow(func(row pgx.Row) error {
		return row.Scan(&t.counters.revision, &t.counters.access, &t.counters.account, &t.counters.key)
	})
	if err := t.tx.SendBatch(ctx, &batch).Close(); err != nil {
		_ = t.tx.Rollback(ctx)
		return nil, err
	}
	t.before = t.counters
	return t, nil
}

func (t *tx) run(fn func(*tx) error) error {
	err := fn(t)
	if err == nil {
		err = t.finish()
	}
	if err != nil {
		_ = t.tx.Rollback(t.ctx)
		return err
	}
	if err := t.tx.Commit(t.ctx); err != nil {
		return &commitError{fmt.Errorf("commit: %w", err)}
	}
	return nil
}

// commitError is an error of a commit that was sent.
type commitError struct{ error }

func (e *commitError) Unwrap() error { return e.error }

// maybeCommitted reports whether a change may have happened though it failed with
// err. The server says so when it refuses a commit; when it says nothing, or ends,
// nobody knows.
func maybeCommitted(err error) bool {
	if _, ok := errors.AsType[*commitError](err); !ok {
		return false
	}
	state := sqlState(err)
	return severityOf(err) != statement && (state == "40003" || !strings.HasPrefix(state, "40"))
}

// finish writes the counters down, if any moved.
func (t *tx) finish() error {
	const update = `UPDATE counter SET revision = $1, access_revision = $2, account_id = $3, key_id = $4 WHERE id = 1`
	if t.counters == t.before {
		return nil
	}
	c := t.counters
	return t.exec(update, c.revision, c.access, c.account, c.key)
}

// reviseAccess returns the next revision, for a change of an account, a key or a
// ban.
func (t *tx) reviseAccess() int64 {
	t.counters.revision++
	t.counters.access = t.counters.revision
	return t.counters.revision
}

// exec runs a statement that returns no rows.
func (t *tx) exec(query string, args ...any) error {
	_, err := t.tx.Exec(t.ctx, query, args...)
	return err
}

// get reads one row. It returns pgx.ErrNoRows when there is none.
func (t *tx) get(query string, args []any, into ...any) error {
	return t.tx.QueryRow(t.ctx, query, args...).Scan(into...)
}
