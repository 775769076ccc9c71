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
	// accessChanged is called after each change of an account, a key or a ban.
	accessChanged func(context.Context)
}

// New returns the operations on the data in a database.
func New(db Database, d Dialect, m Meta, c clock.Clock) *Store {
	return &Store{db: db, dialect: d, meta: m, clock: c, accessChanged: func(context.Context) {}}
}

// OnAccessChange sets a function that is called after each committed change of an account, a
// key or a ban by this process, before the caller gets the answer. Call it before the store
// is used concurrently.
func (s *Store) OnAccessChange(fn func(context.Context)) { s.accessChanged = fn }

// Change runs fn in a transaction that holds the counter's row, for work that is no
// operation of the domain. See [Database].
func (s *Store) Change(ctx context.Context, doing string, fn func(*Tx) error) error {
	return s.db.Change(ctx, Work{Doing: doing}, fn)
}

// Dataset returns the dataset name: the random name that the data got when it was created.
func (s *Store) Dataset() string { return s.meta.Dataset }

// Environment returns the environment that the data belongs to.
func (s *Store) Environment() petcat.Environment { return s.meta.Environment }

// Created reports whether opening this store created the data.
func (s *Store) Created() bool { return s.meta.Created }

// Now returns the time of the wall clock in whole milliseconds, as it is stored.
func Now(c clock.Clock) time.Time { return c.Read().Time().Truncate(time.Millisecond) }

// stored returns a time in UTC and whole milliseconds, as it is stored. The zero time stays.
func stored(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC().Truncate(time.Millisecond)
}

// millis returns a time in Unix milliseconds. The zero time is NULL.
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

// SubmitError translates an error of the queue of writes into an error of the domain. It
// returns errors of a commit unchanged.
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

// callerError gives an error of a write a message for callers of the API. The error itself,
// whose message is for operators, becomes its cause. then is the advice if it is unknown
// whether the write happened.
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

// Unavailable returns the error service_unavailable, with a message for callers of the API.
func Unavailable(message string, cause error) error {
	return petcat.Errorf(petcat.CodeServiceUnavailable, "%s", message).WithCause(cause)
}
