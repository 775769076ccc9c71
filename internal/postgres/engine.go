package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/petcat-api/petcat/internal/store"
)

// Create commits c in the next group.
func (s *DB) Create(ctx context.Context, c *store.Create) error {
	// While the database is unavailable, the queue is empty.
	if err := s.writes.rejects(); err != nil {
		return translate(&connError{err, unreachable}, "create")
	}
	err := store.SubmitError(s.group.Submit(ctx, c))
	if err == nil {
		err = c.Outcome
	}
	return translate(err, "create")
}

// Read runs fn with a timeout, and once more if its connection is broken.
func (s *DB) Read(ctx context.Context, doing string, fn func(store.Querier) error) error {
	return translate(s.read(ctx, func(ctx context.Context, c *pgx.Conn) error { return fn(s.conn(ctx, c)) }), doing)
}

// Each has a timeout per row, which excludes the time that the function row takes.
func (s *DB) Each(ctx context.Context, doing string, row func(store.Scan) error, query string, args ...any) error {
	watched, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timeout := s.timeouts.row
	timer := time.AfterFunc(timeout, func() { cancel(errNoResponse) })
	defer timer.Stop()
	return translate(try(watched, s.reads, s.readers, func(ctx context.Context, c *pgx.Conn) (responded bool, err error) {
		err = s.conn(ctx, c).Query(func(scan store.Scan) error {
			timer.Stop()
			defer timer.Reset(timeout)
			responded = true
			return row(scan)
		}, query, args...)
		return responded, err
	}), doing)
}

func (s *DB) read(ctx context.Context, fn func(context.Context, *pgx.Conn) error) error {
	limited, cancel := context.WithTimeoutCause(ctx, s.timeouts.read, errNoResponse)
	defer cancel()
	return try(limited, s.reads, s.readers, func(ctx context.Context, c *pgx.Conn) (responded bool, err error) {
		// If the caller's context is canceled during the read, the driver would close the connection, and
		// a new one costs the server more than the rest of the read.
		ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), s.timeouts.read, errNoResponse)
		defer cancel()
		return false, fn(ctx, c)
	})
}

// try runs fn with a connection, and once more if the connection is broken and the server has not
// responded. It then replaces all idle connections: after a server restart they are also broken.
func try(ctx context.Context, b *breaker, p pool, fn func(context.Context, *pgx.Conn) (responded bool, err error)) error {
	responded, err := once(ctx, b, p, fn)
	if !responded && severityOf(err) == lost && ctx.Err() == nil {
		p.Reset()
		_, err = once(ctx, b, p, fn)
	}
	return err
}

// once runs fn with a connection if the breaker lets it through, and reports the result to the
// breaker. ctx is the caller's context.
func once(
	ctx context.Context, b *breaker, p pool, fn func(context.Context, *pgx.Conn) (responded bool, err error),
) (responded bool, err error) {
	if err := b.enter(); err != nil {
		return false, &connError{err, unreachable}
	}
	err = p.with(ctx, func(ctx context.Context, c *pgx.Conn) (err error) {
		responded, err = fn(ctx, c)
		return err
	})
	b.report(ctx, err)
	return responded, err
}

// report reports the result of a use of a connection. ctx is the caller's context.
func (b *breaker) report(ctx context.Context, err error) {
	switch severity := severityOf(err); {
	case errors.Is(err, errNoRoom):
		b.unknown() // the calls that use the connections report
	case errors.Is(err, errNoResponse):
		b.failed(err)
	case err != nil && ctx.Err() != nil:
		b.unknown()
	case severity == unreachable:
		b.failed(err)
	case severity == lost && sqlState(err) == "":
		b.unknown() // one broken connection is inconclusive; the next connect is not
	default:
		b.responded()
	}
}

// noteFull records a disk-full error.
func (s *DB) noteFull(err error) {
	if sqlState(err) == diskFull {
		now := s.clock.Read()
		s.fullAt.Store(&now)
	}
}

// commit makes a group of creates durable. The committer calls it.
func (s *DB) commit(group []*store.Create) error {
	err := s.commitGroup(group)
	if err == nil || severityOf(err) != statement || len(group) == 1 {
		return err
	}
	// One of them is wrong, and the others must not fail with it, so each gets its own transaction.
	for i, c := range group {
		if alone := s.commitGroup(group[i : i+1]); alone != nil {
			c.Outcome = alone
		}
	}
	return nil
}

// commitGroup commits a group in one transaction. Its context does not depend on a single caller.
func (s *DB) commitGroup(group []*store.Create) error {
	t, err := s.begin(context.WithoutCancel(s.life), s.creators, "create", true)
	if err != nil {
		return err
	}
	defer func() { _ = t.Rollback() }()
	if err := t.tx.CreateAll(group); err != nil {
		return err
	}
	return t.Commit()
}
