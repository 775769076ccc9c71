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
	// While it is away, nothing waits in the queue.
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

// Write is Change without the counter's row: what it locks, nobody who creates waits for.
func (e engine) Write(ctx context.Context, doing string, fn func(store.Conn) error) error {
	return translate(e.s.transact(ctx, e.s.writers, false, func(t *store.Tx) error { return fn(t.Conn) }), doing)
}

// Read runs a read of a few rows, within the patience of one. It is run once more when
// its connection turns out to be broken.
func (e engine) Read(ctx context.Context, doing string, fn func(store.Conn) error) error {
	return translate(e.s.read(ctx, func(ctx context.Context, c *pgx.Conn) error { return fn(e.s.conn(ctx, c)) }), doing)
}

// Each gives the database its time for each row; how long row takes does not matter.
func (e engine) Each(ctx context.Context, doing string, row func(store.Scan) error, query string, args ...any) error {
	watched, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	patience := e.s.patience.row
	timer := time.AfterFunc(patience, func() { cancel(errNoAnswer) })
	defer timer.Stop()
	return translate(try(watched, e.s.reads, e.s.readers, func(ctx context.Context, c *pgx.Conn) (answered bool, err error) {
		err = e.s.conn(ctx, c).Query(func(scan store.Scan) error {
			timer.Stop()
			defer timer.Reset(patience)
			answered = true
			return row(scan)
		}, query, args...)
		return answered, err
	}), doing)
}

func (s *Store) read(ctx context.Context, fn func(context.Context, *pgx.Conn) error) error {
	limited, cancel := context.WithTimeoutCause(ctx, s.patience.read, errNoAnswer)
	defer cancel()
	return try(limited, s.reads, s.readers, func(ctx context.Context, c *pgx.Conn) (answered bool, err error) {
		// The driver closes the connection of a caller who goes away in the middle,
		// and a new one costs the server more than the rest of the read.
		ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), s.patience.read, errNoAnswer)
		defer cancel()
		return false, fn(ctx, c)
	})
}

// try runs fn with a connection, and once more if that turns out to be broken and fn says that
// nothing was answered. Then the others of that age are broken, too, after the server was
// restarted, so they are given up.
func try(ctx context.Context, b *breaker, p pool, fn func(context.Context, *pgx.Conn) (answered bool, err error)) error {
	answered, err := once(ctx, b, p, fn)
	if !answered && severityOf(err) == lost && ctx.Err() == nil {
		p.Reset()
		_, err = once(ctx, b, p, fn)
	}
	return err
}

// once runs fn with a connection if the breaker lets it through, and tells the breaker how it
// ended. ctx is the caller's.
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
		b.unknown() // those who use the connections will know
	case errors.Is(err, errNoAnswer):
		b.failed(err)
	case err != nil && ctx.Err() != nil:
		b.unknown()
	case severity == unreachable:
		b.failed(err)
	case severity == lost && sqlState(err) == "":
		b.unknown() // one broken connection proves nothing; the next attempt to connect does
	default:
		b.answered()
	}
	return answered, err
}

// transact runs fn in a transaction, which holds the counter's row from its begin if that is
// wanted: then what it reads stays true until it commits. It is tried again if not even its
// begin was answered. After that, the connection is known to work, and what was lost may have
// happened.
func (s *Store) transact(ctx context.Context, p pool, counter bool, fn func(*store.Tx) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.patience.write, errNoAnswer)
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

// transaction runs fn in a transaction, and reports whether its begin was answered.
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

// commit makes a group of creates durable. It is the committer's function. A group is not
// given up half-way because one of its callers went away.
func (s *Store) commit(group []*store.Create) error {
	ctx := context.WithoutCancel(s.life)
	create := func(group []*store.Create) error {
		return s.transact(ctx, s.creators, true, func(t *store.Tx) error { return t.CreateAll(group) })
	}
	err := create(group)
	if err != nil && severityOf(err) == statement && len(group) > 1 {
		// One of them is wrong, and the others must not fail with it: each gets a
		// transaction of its own.
		err = nil
		for i, c := range group {
			if alone := create(group[i : i+1]); alone != nil {
				c.Outcome = translate(alone, "create category")
			}
		}
	}
	return translate(err, "create categories")
}
