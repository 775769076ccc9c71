package postgres

import (
	"cmp"
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/petcat-api/petcat/internal/store"
)

// transaction is a transaction of package store, on a connection of a pool.
type transaction struct {
	db     *DB
	pool   pool
	doing  string
	tx     *store.Tx
	ctx    context.Context //nolint:containedctx // with the timeout of a write; canceled after the transaction
	cancel context.CancelFunc
	leased *pgxpool.Conn
	conn   *conn
	failed error // the last error of a statement
	ended  bool
}

// Begin implements [store.DB]. It is retried only if the server did not respond to BEGIN; after that, a
// lost transaction may have committed.
func (s *DB) Begin(ctx context.Context, w store.Work) (*store.Tx, error) {
	t, err := s.begin(ctx, s.writers, w.Doing, true)
	if err != nil {
		return nil, err
	}
	return t.tx, nil
}

// BeginWrite implements [store.DB]. Creates do not wait for it. It does not wait for a standby, so
// usage, heartbeats and sessions are written while the standby is down. It also writes to a standby
// that was promoted.
func (s *DB) BeginWrite(ctx context.Context, doing string) (store.Write, error) {
	t, err := s.begin(ctx, s.writers, doing, false)
	if err != nil {
		return store.Write{}, err
	}
	return store.Write{Conn: t.tx.Conn, Ending: t.tx}, nil
}

// begin begins a transaction on a pool's connection, and locks the counter row if counter is true: then
// the rows that it reads do not change until it commits or rolls back. It is retried only if the server
// did not respond to BEGIN; after that, a lost transaction may have committed.
func (s *DB) begin(ctx context.Context, p pool, doing string, counter bool) (*transaction, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeouts.write, errNoResponse)
	t := &transaction{db: s, pool: p, doing: doing, ctx: ctx, cancel: cancel}
	err := t.begin(counter)
	if severityOf(err) == lost && ctx.Err() == nil {
		p.Reset() // after a server restart, all idle connections are broken
		err = t.begin(counter)
	}
	if err != nil {
		s.noteFull(err)
		s.noteWait(ctx, err)
		cancel()
		return nil, translate(err, doing)
	}
	return t, nil
}

// begin tries once to begin.
func (t *transaction) begin(counter bool) error {
	if err := t.db.writes.enter(); err != nil {
		return &connError{err, unreachable}
	}
	var err error
	if t.leased, err = t.pool.acquire(t.ctx); err != nil {
		t.db.writes.report(t.ctx, err)
		return err
	}
	if err := t.db.Err(); err != nil && counter {
		return t.undo(err)
	}
	t.conn = t.db.conn(t.ctx, t.leased.Conn())
	tx, err := t.db.open(t.conn, counter)
	if err != nil {
		return t.undo(err)
	}
	t.tx = tx.Begun(watched{t.conn, t}, t)
	return nil
}

// open begins a transaction on a connection.
func (s *DB) open(c *conn, counter bool) (*store.Tx, error) {
	var n store.Sequences
	c.queue("begin")
	c.queue(s.settings)
	if counter {
		c.queue(store.SelectSequences + ` FOR UPDATE`).QueryRow(func(row pgx.Row) (err error) {
			n, err = store.ScanSequences(row)
			return err
		})
	} else {
		c.queue("SET LOCAL synchronous_commit = local")
	}
	if err := c.flush(); err != nil {
		return nil, err
	}
	return store.NewTx(c, store.Now(s.clock), n), nil
}

// Commit implements [store.Ending].
func (t *transaction) Commit() error {
	if t.ended {
		return fmt.Errorf("postgres: %s: the transaction has ended", t.doing)
	}
	defer t.cancel()
	err := t.tx.Finish()
	t.ended = true
	if err == nil {
		err = t.conn.commit()
	}
	if err != nil {
		return translate(t.undo(err), t.doing)
	}
	t.db.writes.report(t.ctx, release(t.ctx, t.leased, nil))
	return nil
}

// Rollback implements [store.Ending].
func (t *transaction) Rollback() error {
	if t.ended {
		return nil
	}
	t.ended = true
	defer t.cancel()
	_ = t.undo(t.failed)
	return nil
}

// undo rolls back after err, and returns the connection to the pool. If the server does not respond to
// the rollback, it also reports that to the breaker.
func (t *transaction) undo(err error) error {
	_, failed := t.leased.Exec(t.ctx, "rollback") // if that fails, the connection is closed
	used := release(t.ctx, t.leased, cmp.Or(err, failed))
	t.db.writes.report(t.ctx, used)
	t.db.noteFull(used)
	t.db.noteWait(t.ctx, used)
	if err == nil {
		return nil
	}
	return used
}

// watched is the connection of a transaction. It returns domain errors.
type watched struct {
	*conn
	of *transaction
}

func (w watched) note(err error) error {
	if err == nil {
		return nil
	}
	w.of.failed = err
	return translate(used(w.ctx, w.to.IsClosed(), err), w.of.doing)
}

// usable returns an error if the transaction cannot run another statement.
func (w watched) usable() error {
	if w.of.ended {
		return fmt.Errorf("postgres: %s: the transaction has ended", w.of.doing)
	}
	return nil
}

// Run implements [store.Conn].
func (w watched) Run(query string, args ...any) error {
	if err := w.usable(); err != nil {
		return err
	}
	return w.conn.Run(query, args...)
}

// Exec implements [store.Conn].
func (w watched) Exec(query string, args ...any) (int64, error) {
	if err := w.usable(); err != nil {
		return 0, err
	}
	n, err := w.conn.Exec(query, args...)
	return n, w.note(err)
}

// Query implements [store.Conn].
func (w watched) Query(row func(store.Scan) error, query string, args ...any) error {
	if err := w.usable(); err != nil {
		return err
	}
	return w.note(w.conn.Query(row, query, args...))
}

// QueryEach implements [store.Conn].
func (w watched) QueryEach(row func(int, store.Scan) error, query string, args [][]any) error {
	if err := w.usable(); err != nil {
		return err
	}
	return w.note(w.conn.QueryEach(row, query, args))
}

// alone runs fn in a transaction on a connection that the caller has, without a timeout.
func (s *DB) alone(ctx context.Context, on *pgx.Conn, counter bool, fn func(*store.Tx) error) (err error) {
	c := s.conn(ctx, on)
	defer func() {
		if err != nil {
			_, _ = on.Exec(ctx, "rollback") // if that fails, the connection is closed
		}
	}()
	t, err := s.open(c, counter)
	if err != nil {
		return err
	}
	if err := fn(t); err != nil {
		return err
	}
	if err := t.Finish(); err != nil {
		return err
	}
	return c.commit()
}
