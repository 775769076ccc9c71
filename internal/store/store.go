package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/groupcommit"
)

// Store has the operations on one set of data. It is safe for concurrent use.
type Store struct {
	db       Database
	dialect  Dialect
	meta     Meta
	clock    clock.Clock
	inFlight inFlight
}

// MaxWait is how long creates may wait for their turn, as far as the last groups tell: a
// client that is told at once to come back later is better off than one that waits for
// longer, and a second after a flood has ended nothing of it is left.
const MaxWait = time.Second

// New returns the operations on what a database holds.
func New(db Database, d Dialect, m Meta, c clock.Clock) *Store {
	return &Store{db: db, dialect: d, meta: m, clock: c}
}

// Change runs fn in a transaction that holds the counter's row, for what is no
// operation of the domain. See [Database].
func (s *Store) Change(ctx context.Context, doing string, fn func(*Tx) error) error {
	return s.db.Change(ctx, Work{Doing: doing}, fn)
}

// Dataset returns the random name that this set of data was given when it was
// made.
func (s *Store) Dataset() string { return s.meta.Dataset }

// Environment returns the environment that the data belongs to.
func (s *Store) Environment() petcat.Environment { return s.meta.Environment }

// Created reports whether there was no data before this store was opened.
func (s *Store) Created() bool { return s.meta.Created }

// Now returns the wall clock in the precision that is stored.
func Now(c clock.Clock) time.Time { return c.Read().Time().Truncate(time.Millisecond) }

// stored returns a moment in the precision that is stored.
func stored(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC().Truncate(time.Millisecond)
}

// fromMillis and millis convert moments; the zero time is NULL.
func fromMillis(ms *int64) time.Time {
	if ms == nil {
		return time.Time{}
	}
	return time.UnixMilli(*ms).UTC()
}

func millis(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

func notFound(format string, args ...any) error {
	return petcat.Errorf(petcat.CodeNotFound, format, args...)
}

func invalid(format string, args ...any) error {
	return petcat.Errorf(petcat.CodeInvalidField, format, args...)
}

// SubmitError translates an error of a committer's queue for the caller of a write.
// Errors of a commit pass.
func SubmitError(err error) error {
	switch {
	case errors.Is(err, groupcommit.ErrFull):
		return Unavailable("too many writes are waiting; retry in a moment", err)
	case errors.Is(err, groupcommit.ErrClosed):
		return Unavailable("the service is stopping; retry in a moment", err)
	case errors.Is(err, groupcommit.ErrStopped):
		return Unavailable("nothing can be stored at the moment; retry later", err)
	case errors.Is(err, groupcommit.ErrAbandoned):
		return Unavailable("the write took too long and may still happen; repeat it with the same Idempotency-Key", fmt.Errorf("%w: %w", petcat.ErrOutcomeUnknown, err))
	default:
		return err
	}
}

// callerError says to a caller of the API what an error of a write means, which says
// to an operator what to do. then is what to do if nobody knows whether it happened.
func callerError(err error, then string) error {
	switch {
	case err == nil || petcat.CodeOf(err) != petcat.CodeServiceUnavailable:
		return err
	case errors.Is(err, petcat.ErrOutcomeUnknown):
		return Unavailable("nothing can be stored at the moment, and this write may or may not have happened; "+then, err)
	default:
		return Unavailable("nothing can be stored at the moment, and nothing was changed; retry later", err)
	}
}

// Unavailable says that the database is unavailable, or takes no writes.
func Unavailable(message string, cause error) error {
	return petcat.Errorf(petcat.CodeServiceUnavailable, "%s", message).WithCause(cause)
}
