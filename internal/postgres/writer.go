package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"petcat/internal/clock"
	"petcat/internal/pgpooler"
)

// writer owns the one connection that creates categories. Only the committer's
// goroutine uses it.
type writer struct {
	// life never ends: a group is not given up half-way because one of its callers
	// went away.
	life     context.Context //nolint:containedctx // the store is its own request
	config   *pgx.ConnConfig
	clock    clock.Clock
	circuit  circuit  // of all writes
	refusal  *refusal // of all writes
	patience *patience

	conn *pgx.Conn     // nil: to be connected again
	own  bool          // the connection's settings are the writer's own: no pooler is between
	used clock.Reading // when the connection last did something
}

func newWriter(ctx context.Context, config *pgx.ConnConfig, o Options, p *pool) *writer {
	return &writer{
		life: context.WithoutCancel(ctx), config: config, clock: o.Clock,
		circuit: p.writes, refusal: &p.refusal, patience: o.patience,
	}
}

// idle is how long a connection may have been silent and still be trusted: longer
// than between two groups under load. An idle one may have been cut, and the group
// that finds out would not know whether it was committed; to ask first costs one
// round trip.
const idle = 50 * time.Millisecond

// connect makes sure that there is a connection that works.
func (w *writer) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, w.patience.connect, errNoConnection)
	defer cancel()
	if w.conn != nil && w.clock.Read().Since(w.used) > idle && w.conn.Ping(ctx) != nil {
		w.disconnect()
	}
	if w.conn != nil {
		return nil
	}
	conn, err := pgx.ConnectConfig(ctx, w.config.Copy())
	if err != nil {
		err = fmt.Errorf("%w: %w", errNoConnection, err)
	} else {
		// After a switch, another server may be there.
		if err = w.prepare(ctx, conn); err != nil {
			w.conn = conn
			w.disconnect()
		}
	}
	if err != nil {
		return &unreachableError{err}
	}
	w.conn, w.used = conn, w.clock.Read()
	return nil
}

// prepare checks whether a connection can be used, and makes its settings.
func (w *writer) prepare(ctx context.Context, conn *pgx.Conn) error {
	if _, err := checkServer(ctx, conn); err != nil {
		return err
	}
	var err error
	if w.own, err = pgpooler.IsDirect(ctx, conn); err == nil && w.own {
		_, err = conn.Exec(ctx, w.patience.sessionSettings(), pgx.QueryExecModeExec)
	}
	return err
}

// disconnect closes the connection, which rolls back whatever it had begun. It does not
// wait: closing takes long if the server does not answer.
func (w *writer) disconnect() {
	if w.conn == nil {
		return
	}
	conn := w.conn
	w.conn = nil
	go closeConn(w.life, conn)
}

func closeConn(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	_ = conn.Close(ctx) // it is no longer needed, whatever comes of it
}

// close closes the connection in order.
func (w *writer) close() {
	if w.conn != nil {
		closeConn(w.life, w.conn)
		w.conn = nil
	}
}

// send runs a batch, which is to make itself durable, as one transaction in one
// round trip. It returns after the commit.
func (w *writer) send(batch *pgx.Batch) error {
	return w.circuit.run(w.life, func() error {
		err := w.attempt(batch)
		w.refusal.note(err)
		return err
	})
}

func (w *writer) attempt(batch *pgx.Batch) error {
	if err := w.connect(w.life); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(w.life, w.patience.write, errNoAnswer)
	defer cancel()
	if !w.own {
		// The lock of a table is waited for before anything in the statement runs.
		batch.QueuedQueries = slices.Insert(batch.QueuedQueries, 0, &pgx.QueuedQuery{SQL: w.patience.settings()})
	}
	// Closing reads the answers up to that to the commit.
	err := w.conn.SendBatch(ctx, batch).Close()
	w.used = w.clock.Read()
	if err == nil {
		return nil
	}
	closed := w.conn.IsClosed()
	if closed || severityOf(err) != statement {
		// A server that is being stopped, or that was made a standby, takes no writes
		// either.
		w.disconnect()
	}
	if closed {
		return &lostError{because(ctx, err)}
	}
	return err
}
