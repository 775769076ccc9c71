package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"petcat/internal/store"
)

// engine implements [store.Database].
type engine struct{ s *Store }

// Create commits c in the next group.
func (e engine) Create(ctx context.Context, c *store.Create) error {
	// While the database is unavailable, nothing waits in the queue.
	if err := e.s.writes.refuses(); err != nil {
		return translate(&connError{err, unreachable}, "create category")
	}
	err := store.SubmitError(e.s.group.Submit(ctx, c))
	if err == nil {
		err = c.Outcome
	}
	return translate(err, "create category")
}

// Change runs fn in a transaction that holds the counter's row.
func (e engine) Change(ctx context.Context, w store.Work, fn func(*store.Tx) error) error {
	return translate(e.s.transact(ctx, e.s.writers, true, fn), w.Doing)
}

// Write is Change without the counter's row: creates do not wait for it. It does not wait for a
// standby, so usage, heartbeats and sessions are written while the standby is down.
func (e engine) Write(ctx context.Context, doing string, fn func(store.Conn) error) error {
	return translate(e.s.transact(ctx, e.s.writers, false, func(t *store.Tx) error { return fn(t.Conn) }), doing)
}

// Read runs fn with a timeout, and once more if its connection is broken.
func (e engine) Read(ctx context.Context, doing string, fn func(store.Conn) error) error {
	return translate(e.s.read(ctx, func(ctx context.Context, c *pgx.Conn) error { return fn(e.s.conn(ctx, c)) }), doing)
}

// Each has a timeout for each row, without the time that the function row takes.
func (e engine) Each(ctx context.Context, doing string, row func(store.Scan) error, query string, args ...any) error {
	watched, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timeout := e.s.timeouts.row
	timer := time.AfterFunc(timeout, func() { cancel(errNoAnswer) })
	defer timer.Stop()
	return translate(try(watched, e.s.reads, e.s.readers, func(ctx context.Context, c *pgx.Conn) (answered bool, err error) {
		err = e.s.conn(ctx, c).Query(func(scan store.Scan) error {
			timer.Stop()
			defer timer.Reset(timeout)
			answered = true
			return row(scan)
		}, query, args...)
		return answered, err
	}), doing)
}

func (s *Store) read(ctx context.Context, fn func(context.Context, *pgx.Conn) error) error {
	limited, cancel := context.WithTimeoutCause(ctx, s.timeouts.read, errNoAnswer)
	defer cancel()
	return try(limited, s.reads, s.readers, func(ctx context.Context, c *pgx.Conn) (answered bool, err error) {
		// If a caller leaves during the read, the driver would close the connection, and a new
		// one costs the server more than the rest of the read.
		ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), s.timeouts.read, errNoAnswer)
		defer cancel()
		return false, fn(ctx, c)
	})
}

// try runs fn with a connection, and once more if the connection is broken and the server answered
// nothing. It then replaces all idle connections: after a restart of the server they are broken,
// too.
func try(ctx context.Context, b *breaker, p pool, fn func(context.Context, *pgx.Conn) (answered bool, err error)) error {
	answered, err := once(ctx, b, p, fn)
	if !answered && severityOf(err) == lost && ctx.Err() == nil {
		p.Reset()
		_, err = once(ctx, b, p, fn)
	}
	return err
}

// once runs fn with a connection if the breaker lets it through, and reports the result to the
// breaker. ctx is the caller's context.
func once(ctx context.Context, b *breaker, p pool, fn func(context.Context, *pgx.Conn) (answered bool, err error)) (answered bool, err error) {
	if err := b.enter(); err != nil {
		return false, &connError{err, unreachable}
	}
	err = p.with(ctx, func(ctx context.Context, c *pgx.Conn) (err error) {
		answered, err = fn(ctx, c)
		return err
	})
	switch severity := severityOf(err); {
	case errors.Is(err, errNoRoom):
		b.unknown() // the calls that use the connections report
	case errors.Is(err, errNoAnswer):
		b.failed(err)
	case err != nil && ctx.Err() != nil:
		b.unknown()
	case severity == unreachable:
		b.failed(err)
	case severity == lost && sqlState(err) == "":
		b.unknown() // one broken connection proves nothing; the next connect does
	default:
		b.answered()
	}
	return answered, err
}

// transact runs fn in a transaction, which locks the counter's row at its begin if counter is true:
// then the rows that it reads do not change until it commits. It is retried only if the server did
// not answer its begin; after that, a lost transaction may have committed.
func (s *Store) transact(ctx context.Context, p pool, counter bool, fn func(*store.Tx) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeouts.write, errNoAnswer)
	defer cancel()
	err := try(ctx, s.writes, p, func(ctx context.Context, c *pgx.Conn) (begun bool, err error) {
		return s.transaction(ctx, c, counter, fn)
	})
	if sqlState(err) == diskFull {
		now := s.clock.Read()
		s.fullAt.Store(&now)
	}
	return err
}

// transaction runs fn in a transaction, and reports whether the server answered its begin.
func (s *Store) transaction(ctx context.Context, on *pgx.Conn, counter bool, fn func(*store.Tx) error) (begun bool, err error) {
	c := s.conn(ctx, on)
	defer func() {
		if err != nil {
			_, _ = on.Exec(ctx, "rollback") // if that fails, the connection is closed
		}
	}()
	var n store.Sequences
	c.queue("begin")
	c.queue(s.settings)
	if counter {
		c.queue(store.SelectSequences + ` FOR UPDATE`).QueryRow(func(row pgx.Row) error { return row.Scan(n.Into()...) })
	} else {
		c.queue("SET LOCAL synchronous_commit = local")
	}
	if err := c.flush(); err != nil {
		return false, err
	}
	t := store.NewTx(c, store.Now(s.clock), n)
	if err := fn(t); err != nil {
		return true, err
	}
	if err := t.Finish(); err != nil {
		return true, err
	}
	return true, c.commit()
}

// commit makes a group of creates durable. It is the committer's function. The group does not end
// with the context of one of its callers.
func (s *Store) commit(group []*store.Create) error {
	ctx := context.WithoutCancel(s.life)
	create := func(group []*store.Create) error {
		return s.transact(ctx, s.creators, true, func(t *store.Tx) error { return t.CreateAll(group) })
	}
	err := create(group)
	if err != nil && severityOf(err) == statement && len(group) > 1 {
		// One of them is wrong, and the others must not fail with it: each gets its own
		// transaction.
		err = nil
		for i, c := range group {
			if alone := create(group[i : i+1]); alone != nil {
				c.Outcome = translate(alone, "create category")
			}
		}
	}
	return translate(err, "create categories")
}
