package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// pool is some connections that serve one purpose, so that nothing else delays it.
type pool struct{ *pgxpool.Pool }

// refill is how soon a server makes the connections again that it has lost.
const refill = time.Second

func newPool(ctx context.Context, config *pgxpool.Config, o Options, size int) (pool, error) {
	config = config.Copy()
	config.MaxConns = int32(size)
	// A caller that finds no idle connection would wait for a new one, for a second on a
	// busy machine, even if others become idle meanwhile. So a server keeps all of them open.
	if o.Serving && !strings.Contains(o.URL.Reveal(), "pool_min_conns") {
		config.MinConns = config.MaxConns
		config.HealthCheckPeriod = refill
	}
	// The pool would hold on to a connection that does not answer; see with.
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	p, err := pgxpool.NewWithConfig(context.WithoutCancel(ctx), config)
	if err != nil {
		return pool{}, fmt.Errorf("make the pool of connections: %w", err)
	}
	return pool{p}, nil
}

// with runs fn with a connection, whatever is known of the database.
func (p pool) with(ctx context.Context, fn func(context.Context, *pgx.Conn) error) error {
	c, err := p.Acquire(ctx)
	if err != nil {
		err = because(ctx, err)
		if s := p.Stat(); s.AcquiredConns() == s.MaxConns() {
			err = fmt.Errorf("%w: %w", errNoRoom, err)
		}
		return &connError{err, unreachable}
	}
	err = fn(ctx, c.Conn())
	if !c.Conn().IsClosed() {
		c.Release()
		return err
	}
	// The driver goes on for a while trying to cancel the query and to close the
	// connection. Its place in the pool is free for another one at once.
	c.Hijack()
	if err != nil {
		err = &connError{because(ctx, err), lost}
	}
	return err
}

// because adds why a context has ended, if it has, to an error that came of it.
func because(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if cause == nil || err == nil {
		return err
	}
	// Only a caller's end is a [context.Canceled], not a database that did not answer.
	return fmt.Errorf("%w: %v", cause, err) //nolint:errorlint // as above
}
