// Package pgcounters implements [counters.Counters] on PostgreSQL, for nodes that
// share only a database.
//
// The tables are unlogged (migrations of package postgres). They cost no log, and
// whenever counts could be lost, at a crash of the server and on a promoted standby,
// the server empties all of them. The row of the epoch goes with them, and its
// absence shows that a new epoch must begin.
//
// A call is one transaction in one round trip (charge.go, grant.go): it locks the
// rows of its accounts in the order of their ids, takes the server's time, and
// changes them by the rules of [counters.Account], written in SQL. The rules
// themselves would need the rows to be read first, in a round trip of its own, and a
// node that was frozen in between would block the accounts for all others.
//
// A call that its caller gives up goes on, and leaves its connection to the next one:
// the driver would close the connection instead, and in a burst calls would be late
// because they wait for new ones. A connection that is silent for a second is closed.
//
// While a snapshot is open, such as a backup's, the server keeps every version of
// every row: some 150 bytes for each charge, in files that are used again and do not
// shrink. So that a read does not pass all of them, a row gets another key, called
// its part, after about 8 changes, and is searched from the highest part down.
package pgcounters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"petcat"
	"petcat/internal/counters"
	"petcat/internal/pgpooler"
)

const (
	// A node makes at most one call in each interval on average, and after a pause so many
	// at once: who waits for the next one, the caller tells in the same call. This bounds
	// what a node costs the database, and how many versions of rows a snapshot makes it keep.
	interval    = 2500 * time.Microsecond
	callsAtOnce = 20
	// connections is how many a node has: more than it uses at once, because a late call
	// keeps its own.
	connections = 4
	// connectTimeout is how long the server may take to let a connection in, and then to
	// prepare what it is for.
	connectTimeout = 2 * time.Second
	// startTimeout is how long New waits for all connections, for which a burst would
	// wait otherwise.
	startTimeout = time.Second
	// hungAfter is when a connection is given up that does not answer. Callers give up
	// earlier, and keep it: the next calls would wait for a new one, and be late, too.
	hungAfter = time.Second
)

// settings begins a transaction. They are the transaction's own, because behind a
// pooler the next one may run on another connection. The plans that they leave over
// are those that stay good while the tables grow unseen: each row by its key.
const settings = `SELECT set_config('synchronous_commit', 'off', true), set_config('lock_timeout', '30', true),
	set_config('statement_timeout', '500', true), set_config('plan_cache_mode', 'force_generic_plan', true),
	set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
	set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true), set_config('jit', 'off', true)`

// moment is the server's time, taken while the statement runs, unless a parameter,
// which tests use, tells another one.
const moment = `CASE $1::int8 WHEN 0 THEN (extract(epoch FROM clock_timestamp()) * 1000000)::int8 * 1000 ELSE $1 END`

// Options says where the counters are.
type Options struct {
	// URL is the address of the database, whose schema package postgres has made.
	URL    petcat.Secret
	Logger *slog.Logger // nil: no log
}

// Counters are those of one database, in one partition. It is safe for concurrent
// use.
type Counters struct {
	pool   *pgxpool.Pool
	logger *slog.Logger
	calls  chan struct{} // holds a place for each call until its interval is over, one after the other
	now    func() int64  // of tests, nanoseconds since the Unix epoch; 0: the server's
}

var _ counters.Counters = (*Counters)(nil)

// New connects to the counters.
func New(ctx context.Context, o Options) (*Counters, error) {
	config, err := pgxpool.ParseConfig(o.URL.Reveal())
	if err != nil {
		// The driver's error may repeat the address, which may hold a password.
		return nil, errors.New("pgcounters: the address of the database cannot be read; it looks like postgres://user:password@host:5432/database?sslmode=verify-full")
	}
	config.MaxConns, config.MinConns = connections, connections
	config.HealthCheckPeriod = 5 * time.Second
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	conn := config.ConnConfig
	conn.ConnectTimeout = connectTimeout
	conn.RuntimeParams["application_name"] = "petcat counters"
	conn.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	config.AfterConnect = prepare
	if err := chooseMode(ctx, conn, o.URL); err != nil {
		return nil, fmt.Errorf("pgcounters: connect: %w", err)
	}
	pool, err := pgxpool.NewWithConfig(context.WithoutCancel(ctx), config)
	if err != nil {
		return nil, fmt.Errorf("pgcounters: %w", err)
	}
	awaitConnections(ctx, pool)
	return newCounters(pool, cmp.Or(o.Logger, slog.New(slog.DiscardHandler))), nil
}

func newCounters(pool *pgxpool.Pool, logger *slog.Logger) *Counters {
	return &Counters{pool: pool, logger: logger, calls: make(chan struct{}, callsAtOnce), now: func() int64 { return 0 }}
}

// chooseMode asks whether a pooler is at the other end, on a connection of its own.
func chooseMode(ctx context.Context, config *pgx.ConnConfig, address petcat.Secret) error {
	conn, err := pgx.ConnectConfig(ctx, config.Copy())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	return pgpooler.ChooseMode(ctx, conn, config, address)
}

// prepare has the server plan, on a new connection, what requests wait for: it charges no
// accounts. A server that does not come to it now does it later.
func prepare(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	batch := &pgx.Batch{}
	batch.Queue(settings)
	queueCharges(batch, 0, counters.Epoch{}, nil)
	queueGrants(batch, counters.Epoch{}, nil)
	queueRows(batch, nil)
	if err := conn.SendBatch(ctx, batch).Close(); conn.IsClosed() {
		return err
	}
	return nil
}

// awaitConnections waits until all connections are made, but not for long.
func awaitConnections(ctx context.Context, pool *pgxpool.Pool) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for range connections {
		conn, err := pool.Acquire(ctx)
		if err != nil {
			return
		}
		defer conn.Release()
	}
}

// Close closes the connections. No other call may follow or be under way.
func (c *Counters) Close() { c.pool.Close() }

// Partitions implements [counters.Counters].
func (c *Counters) Partitions() int { return 1 }

// Probe implements [counters.Counters].
func (c *Counters) Probe(ctx context.Context, _ int) (counters.Epoch, int64, error) {
	const (
		begin = `INSERT INTO shared_epoch (id, epoch, began) VALUES (1, $2, ` + moment + `) ON CONFLICT (id) DO NOTHING`
		read  = `SELECT epoch, began, ` + moment + ` FROM shared_epoch WHERE id = 1`
	)
	var epoch counters.Epoch
	var now int64
	fresh := counters.NewID()
	err := c.run(ctx, "probe", func(batch *pgx.Batch) {
		batch.Queue(begin, c.now(), fresh)
		batch.Queue(read, c.now()).QueryRow(func(row pgx.Row) error { return row.Scan(&epoch.ID, &epoch.Began, &now) })
	})
	if err != nil {
		return counters.Epoch{}, 0, err
	}
	if epoch.ID == fresh {
		c.logger.InfoContext(ctx, "the counters in the database were empty; a new epoch begins", "epoch", epoch.ID)
	}
	return epoch, now, nil
}

// runIn runs statements that do nothing in another epoch.
func (c *Counters) runIn(ctx context.Context, epoch counters.Epoch, doing string, queue func(*pgx.Batch)) error {
	const query = `SELECT coalesce(max(epoch), 0) FROM shared_epoch WHERE id = 1`
	var id int64
	err := c.run(ctx, doing, func(batch *pgx.Batch) {
		queue(batch)
		batch.Queue(query).QueryRow(func(row pgx.Row) error { return row.Scan(&id) })
	})
	if err != nil || id == epoch.ID {
		return err
	}
	holds, _, err := c.Probe(ctx, 0)
	if err != nil {
		return err
	}
	return &counters.WrongEpoch{Now: holds}
}

// run runs statements as one transaction in one round trip. If that waits too long for a
// row, nothing was done, and it is retried until the context ends.
func (c *Counters) run(ctx context.Context, doing string, queue func(*pgx.Batch)) error {
	const lockTimedOut = "55P03"
	for {
		batch := &pgx.Batch{} // it remembers the connection that it was sent on
		batch.Queue(settings)
		queue(batch)
		err := c.send(ctx, batch)
		if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == lockTimedOut && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return fmt.Errorf("pgcounters: %s: %w", doing, err)
		}
		return nil
	}
}

// send sends statements when it is their turn and there is a connection. They go on
// when their caller's context ends; what they then still write, nobody reads.
func (c *Counters) send(ctx context.Context, batch *pgx.Batch) error {
	select {
	case c.calls <- struct{}{}:
		time.AfterFunc(time.Duration(len(c.calls))*interval, func() { <-c.calls })
	case <-ctx.Done():
		return ctx.Err()
	}
	conn, err := c.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	answer := make(chan error, 1)
	go func() { answer <- c.exchange(ctx, conn, batch) }()
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// exchange sends statements and reads the answers, also when the context ends.
func (c *Counters) exchange(ctx context.Context, conn *pgxpool.Conn, batch *pgx.Batch) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), hungAfter)
	defer cancel()
	err := conn.Conn().SendBatch(ctx, batch).Close()
	if !conn.Conn().IsClosed() {
		conn.Release()
		return err
	}
	// The driver goes on for a while closing the connection. Its place in the pool is
	// free at once.
	_ = conn.Hijack()
	if ctx.Err() == nil {
		c.pool.Reset() // after a restart of the server the others are broken, too
	}
	return err
}
