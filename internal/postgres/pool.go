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
)

// pool is some connections, and the callers that wait for one.
type pool struct {
	*pgxpool.Pool

	waiting atomic.Int64
	// cancelling are the queries whose callers have gone away, until the server was told.
	cancelling sync.WaitGroup
}

// maxWaiting is how many callers may wait for a connection. At 0.2 ms for a read
// on each of 8 connections, the last of 256 waits for less than 10 ms: when
// there are more, the database is too slow to be waited for.
const maxWaiting = 256

func newPool(ctx context.Context, config *pgxpool.Config, o Options, size int) (*pool, error) {
	config = config.Copy()
	config.MaxConns = int32(size)
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
	return &pool{Pool: p}, nil
}

// closeTimeout is how long closing waits for the server to end a connection.
const closeTimeout = 2 * time.Second

// close also waits for queries that are being cancelled: the server would go on with
// them after this process has ended, and keep what they locked.
func (p *pool) close() {
	p.Close()
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
	c, err := p.Acquire(ctx)
	if err == nil {
		return c, nil
	}
	err = because(ctx, err)
	if s := p.Stat(); s.AcquiredConns() < s.MaxConns() && !errors.Is(err, context.Canceled) {
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
