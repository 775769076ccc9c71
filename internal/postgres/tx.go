package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"petcat"
	"petcat/internal/store"
)

// tx is the transaction of one write that is no create of a category. It holds the
// counter's row from its begin, so what it reads stays true until it commits.
type tx struct {
	*store.Tx
	ctx context.Context //nolint:containedctx // it lives no longer than the call
	tx  pgx.Tx
}

// Change is not tried again: after its first answer the connection is known to work,
// and what was lost after that may have happened. An account's request does not wait for
// a trial, see Create.
func (e engine) Change(ctx context.Context, w store.Work, fn func(*store.Tx) error) error {
	if err := e.s.writer.circuit.check(); err != nil && w.Account != 0 {
		return translate(err, w.Doing)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, e.s.pool.patience.write, errNoAnswer)
	defer cancel()
	begun := false
	try := func() error {
		return e.s.pool.write(ctx, func(ctx context.Context, conn *pgx.Conn) error {
			t, err := e.s.begin(ctx, conn)
			if err != nil {
				return err
			}
			begun = true
			return t.run(fn)
		})
	}
	err := try()
	if severityOf(err) == lost && !begun && ctx.Err() == nil {
		e.s.pool.pool.Reset() // see pool.read
		err = try()
	}
	if maybeCommitted(err) {
		return store.Unavailable("the database did not respond, and the change may have been made; check before you retry", fmt.Errorf("%w: %w", petcat.ErrOutcomeUnknown, err))
	}
	return translate(err, w.Doing)
}

// begin opens a transaction and takes the counter's row.
func (s *Store) begin(ctx context.Context, c *pgx.Conn) (*tx, error) {
	begun, err := c.Begin(ctx)
	if err != nil {
		return nil, err
	}
	var n store.Sequences
	var batch pgx.Batch
	batch.Queue(s.pool.settings)
	batch.Queue(store.SelectSequences + ` FOR UPDATE`).QueryRow(func(row pgx.Row) error { return row.Scan(n.Into()...) })
	if err := begun.SendBatch(ctx, &batch).Close(); err != nil {
		_ = begun.Rollback(ctx)
		return nil, err
	}
	return &tx{Tx: store.NewTx(conn{ctx: ctx, querier: begun, texts: &s.pool.texts}, store.Now(s.clock), n), ctx: ctx, tx: begun}, nil
}

func (t *tx) run(fn func(*store.Tx) error) error {
	err := fn(t.Tx)
	if err == nil {
		err = t.Finish()
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
