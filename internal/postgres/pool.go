package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"petcat/internal/store"
)

// pool is the connections of everything but creates.
type pool struct {
	pool     *pgxpool.Pool
	patience *patience
	settings string
	texts    texts
	reads    circuit
	writes   circuit       // the creates' as well
	writing  chan struct{} // holds a place for each write that may have a connection
	refusal  refusal       // of writes, the creates' as well
	waiting  atomic.Int64  // callers that wait for a connection
	// cancelling are the queries whose callers have gone away, until the server was told.
	cancelling sync.WaitGroup
}

// maxWaiting is how many callers may wait for a connection. At 0.2 ms for a read
// on each of 8 connections, the last of 256 waits for less than 10 ms: when
// there are more, the database is too slow to be waited for.
const maxWaiting = 256

func newPool(ctx context.Context, config *pgxpool.Config, o Options) (*pool, error) {
	switch {
	case o.PoolSize > 0:
		config.MaxConns = int32(o.PoolSize)
	case !strings.Contains(o.URL.Reveal(), "pool_max_conns"):
		config.MaxConns = defaultPoolSize
	}
	// A caller that finds no idle connection would wait for a new one, for a second on a
	// busy machine, even if others become idle meanwhile. So a server keeps all of them open.
	if o.Serving && !strings.Contains(o.URL.Reveal(), "pool_min_conns") {
		config.MinConns = config.MaxConns
		config.HealthCheckPeriod = o.patience.refill
	}
	// The pool would hold on to a connection that does not answer; see with.
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	p, err := pgxpool.NewWithConfig(context.WithoutCancel(ctx), config)
	if err != nil {
		return nil, fmt.Errorf("make the pool of connections: %w", err)
	}
	reads, writes := newCircuits(o.Clock)
	return &pool{
		pool: p, patience: o.patience, settings: o.patience.settings(), reads: reads, writes: writes, refusal: refusal{clock: o.Clock},
		// If all writes are slow, reads have the other half of the connections.
		writing: make(chan struct{}, max(1, config.MaxConns/2)),
	}, nil
}

// closeTimeout is how long closing waits for the server to end a connection.
const closeTimeout = 2 * time.Second

// close also waits for queries that are being cancelled: the server would go on with
// them after this process has ended, and keep what they locked.
func (p *pool) close() {
	p.pool.Close()
	cancelled := make(chan struct{})
	go func() {
		defer close(cancelled)
		p.cancelling.Wait()
	}()
	select {
	case <-cancelled:
	case <-time.After(closeTimeout):
	}
}

// read runs a read of a few rows, within the patience of one. It is run once more when
// its connection turns out to be broken: the others of that age are as well,
// after the server was restarted, so they are given up.
func (p *pool) read(ctx context.Context, doing string, fn func(context.Context, *pgx.Conn) error) error {
	limited, cancel := context.WithTimeoutCause(ctx, p.patience.read, errNoAnswer)
	defer cancel()
	// The driver closes the connection of a caller who goes away in the middle,
	// and a new one costs the server more than the rest of the read.
	patient := func(ctx context.Context, conn *pgx.Conn) error {
		ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), p.patience.read, errNoAnswer)
		defer cancel()
		return fn(ctx, conn)
	}
	err := p.do(limited, patient)
	if severityOf(err) == lost && limited.Err() == nil {
		p.pool.Reset()
		err = p.do(limited, patient)
	}
	return translate(err, doing)
}

// do runs fn, which only reads, with a connection.
func (p *pool) do(ctx context.Context, fn func(context.Context, *pgx.Conn) error) error {
	return p.reads.run(ctx, func() error { return p.with(ctx, fn) })
}

// write runs fn, which writes, with a connection.
func (p *pool) write(ctx context.Context, fn func(context.Context, *pgx.Conn) error) error {
	waited := false
	select {
	case p.writing <- struct{}{}:
	default:
		waited = true
		select {
		case p.writing <- struct{}{}:
		case <-ctx.Done():
			return &unreachableError{because(ctx, errNoRoom)}
		}
	}
	defer func() { <-p.writing }()
	// If the writes before have failed meanwhile, this one is refused.
	return p.writes.run(ctx, func() error {
		err := p.with(ctx, fn)
		if waited && errors.Is(err, errNoConnection) && ctx.Err() != nil {
			// It had little time left, so this says nothing of the database.
			err = &unreachableError{because(ctx, errNoRoom)}
		}
		p.refusal.note(err)
		return err
	})
}

// with runs fn with a connection, whatever is known of the database.
func (p *pool) with(ctx context.Context, fn func(context.Context, *pgx.Conn) error) error {
	c, err := p.acquire(ctx)
	if err != nil {
		return err
	}
	err = fn(ctx, c.Conn())
	if !c.Conn().IsClosed() {
		c.Release()
		return err
	}
	// The driver goes on for a while trying to cancel the query and to close the
	// connection. Its place in the pool is free for another one at once.
	lost := c.Hijack().PgConn()
	p.cancelling.Go(func() { <-lost.CleanupDone() })
	if err == nil {
		return nil
	}
	return &lostError{because(ctx, err)}
}

func (p *pool) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	if p.waiting.Add(1) > maxWaiting {
		p.waiting.Add(-1)
		return nil, &unreachableError{errNoRoom}
	}
	defer p.waiting.Add(-1)
	c, err := p.pool.Acquire(ctx)
	if err == nil {
		return c, nil
	}
	err = because(ctx, err)
	if s := p.pool.Stat(); s.AcquiredConns() < s.MaxConns() && !errors.Is(err, context.Canceled) {
		err = fmt.Errorf("%w: %w", errNoConnection, err) // it did not wait for another caller
	}
	return nil, &unreachableError{err}
}

// because adds why a context has ended, if it has, to an error that came of it.
// Only a caller's end is a [context.Canceled]: what was cancelled because the
// database did not answer was not interrupted.
func because(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	switch {
	case cause == nil:
		return err
	case errors.Is(err, context.Canceled) && !errors.Is(cause, context.Canceled):
		return fmt.Errorf("%w: %v", cause, err) //nolint:errorlint // as above
	default:
		return fmt.Errorf("%w: %w", cause, err)
	}
}

// each calls row for every row of a query, and stops at its first error. The
// database has its time for each row; how long row takes does not matter.
func (p *pool) each(ctx context.Context, doing string, row func(store.Scan) error, query string, args ...any) error {
	rows := 0
	counted := func(scan store.Scan) error {
		rows++
		return row(scan)
	}
	try := func() error {
		watched, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		timer := time.AfterFunc(p.patience.read, func() { cancel(errNoAnswer) })
		defer timer.Stop()
		return p.do(watched, func(ctx context.Context, c *pgx.Conn) error {
			return conn{ctx: ctx, querier: c, texts: &p.texts, timer: timer, perRow: p.patience.read}.Query(counted, query, args...)
		})
	}
	err := try()
	if severityOf(err) == lost && rows == 0 && !errors.Is(err, errNoAnswer) && ctx.Err() == nil {
		p.pool.Reset()
		err = try()
	}
	return translate(err, doing)
}
