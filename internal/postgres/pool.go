package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// pool is the connections for one purpose, so that other purposes do not delay it.
type pool struct {
	*pgxpool.Pool

	size int
}

// refill is the period at which a server replaces lost connections.
const refill = time.Second

func newPool(ctx context.Context, config *pgxpool.Config, o Options, size int) (pool, error) {
	config = config.Copy()
	config.MaxConns = int32(size)
	// A caller that does not find an idle connection waits for a new one, for up to a second on a busy
	// machine, even if another one becomes idle. So a server keeps all of them open.
	if o.Serving && !strings.Contains(o.URL.Reveal(), "pool_min_conns") {
		config.MinConns = config.MaxConns
		config.HealthCheckPeriod = refill
	}
	// A ping would keep the place of a hung connection in the pool; see acquire.
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	p, err := pgxpool.NewWithConfig(context.WithoutCancel(ctx), config)
	if err != nil {
		return pool{}, fmt.Errorf("create the connection pool: %w", err)
	}
	return pool{p, size}, nil
}

// with runs fn with a connection. It does not check a breaker.
func (p pool) with(ctx context.Context, fn func(context.Context, *pgx.Conn) error) error {
	c, err := p.acquire(ctx)
	if err != nil {
		return err
	}
	return release(ctx, c, fn(ctx, c.Conn()))
}

// acquire returns a connection. It does not check a breaker. It skips connections that a server, a
// firewall or a pooler closed while they were idle. If all were closed, it opens a new one.
func (p pool) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	for range p.size {
		c, err := p.take(ctx)
		if err != nil || !ended(c.Conn().PgConn()) {
			return c, err
		}
		c.Hijack() // see release
	}
	return p.take(ctx)
}

// ended reports whether an idle connection was closed. It costs a system call; CheckConn, which waits
// for a millisecond, reads the received data: the server's last message, the end of the connection, or a
// notice.
func ended(c *pgconn.PgConn) bool {
	return heard(c.Conn()) && c.CheckConn() != nil //nolint:staticcheck // instead of it, Ping takes a round trip
}

func (p pool) take(ctx context.Context) (*pgxpool.Conn, error) {
	c, err := p.Acquire(ctx)
	if err != nil {
		err = withCause(ctx, err)
		if s := p.Stat(); s.AcquiredConns() == s.MaxConns() {
			err = fmt.Errorf("%w: %w", errNoRoom, err)
		}
		return nil, &connError{err, unreachable}
	}
	return c, nil
}

// release returns a connection to the pool after a use that returned err. It adds the state of the
// connection to the error.
func release(ctx context.Context, c *pgxpool.Conn, err error) error {
	closed := c.Conn().IsClosed()
	if closed {
		// The driver tries for a while to cancel the query and to close the connection. Hijack
		// frees its place in the pool at once.
		c.Hijack()
	} else {
		c.Release()
	}
	return used(ctx, closed, err)
}

// used returns the error of a use of a connection. If ctx is canceled before a statement, the driver does
// not send it and does not close the connection.
func used(ctx context.Context, closed bool, err error) error {
	if err != nil && (closed || ctx.Err() != nil && pgconn.SafeToRetry(err)) {
		return &connError{withCause(ctx, err), lost}
	}
	return err
}

// withCause adds the cause of a canceled context to an error. The result for a [commitError] is also a
// commitError.
func withCause(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if cause == nil || err == nil {
		return err
	}
	if e, ok := errors.AsType[*commitError](err); ok {
		return &commitError{withCause(ctx, e.error)}
	}
	// The driver's error may be a [context.Canceled], which only the caller's own cancellation may return.
	return fmt.Errorf("%w: %v", cause, err) //nolint:errorlint // as above
}
