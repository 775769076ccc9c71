// Package store implements all operations on stored data, and contains all SQL statements, once
// for both databases. Packages sqlite and postgres provide the [DB] that runs the statements,
// and a [Dialect].
//
// Each change of the domain's data runs in a transaction that locks the counter row ([Tx]),
// together with its audit entry. A failed operation has no effect.
//
// Connections, commits, migrations and database errors belong to sqlite and postgres. When the
// database is unavailable, operations return the error of the DB.
package store

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/groupcommit"
)

// Store implements the operations on one dataset. It is safe for concurrent use.
type Store struct {
	db       DB
	dialect  Dialect
	meta     Meta
	clock    clock.Clock
	inFlight sync.Map // of scopedKey: creates in flight in this process
	// accessChanged is called after each change to an account, a key or a ban.
	accessChanged func(context.Context)
	bounds        *bounds // nil: none
}

// New returns a Store on a database.
func New(db DB, c clock.Clock) *Store {
	return &Store{
		db:            db,
		dialect:       db.Dialect(),
		meta:          db.Meta(),
		clock:         c,
		accessChanged: func(context.Context) {},
	}
}

// OnAccessChange sets a function that is called after each change to an account, a key or a ban that this
// process commits, before the operation returns. Call it before the store is used concurrently.
func (s *Store) OnAccessChange(fn func(context.Context)) { s.accessChanged = fn }

// Dataset returns the dataset name, which is random and set when the data is created.
func (s *Store) Dataset() string { return s.meta.Dataset }

// Environment returns the environment that the data belongs to.
func (s *Store) Environment() petcat.Environment { return s.meta.Environment }

// Created reports whether opening this store created the data.
func (s *Store) Created() bool { return s.meta.Created }

// Change runs fn in a transaction that locks the counter row. It is for tests, and for programs that
// fill a database.
func (s *Store) Change(ctx context.Context, doing string, fn func(*Tx) error) (err error) {
	tx, err := s.begin(ctx, Work{Doing: doing})
	if err != nil {
		return err
	}
	defer tx.End(&err)
	if err := fn(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// Exec commits one statement without the lock on the counter row, and returns the number of
// changed rows.
func (s *Store) Exec(ctx context.Context, doing, query string, args ...any) (changed int64, err error) {
	w, err := s.db.BeginWrite(ctx, doing)
	if err != nil {
		return 0, err
	}
	defer w.End(&err)
	if changed, err = w.Exec(query, args...); err != nil {
		return 0, err
	}
	return changed, w.Commit()
}

// exec is Exec without the number of changed rows.
func (s *Store) exec(ctx context.Context, doing, query string, args ...any) error {
	_, err := s.Exec(ctx, doing, query, args...)
	return err
}

func notFound(format string, args ...any) error {
	return petcat.Errorf(petcat.CodeNotFound, format, args...)
}

func conflict(format string, args ...any) *petcat.Error {
	return petcat.Errorf(petcat.CodeConflict, format, args...)
}

func invalid(format string, args ...any) *petcat.Error {
	return petcat.Errorf(petcat.CodeInvalidField, format, args...)
}

// SubmitError translates an error of the write queue into a domain error. It returns
// errors of a commit unchanged.
func SubmitError(err error) error {
	switch {
	case errors.Is(err, groupcommit.ErrFull):
		return Unavailable("too many writes are waiting; retry in a moment", err)
	case errors.Is(err, groupcommit.ErrClosed):
		return Unavailable("the service is stopping; retry in a moment", err)
	case errors.Is(err, groupcommit.ErrAbandoned):
		return Unavailable(
			"the write took too long and may still happen; check before you retry",
			fmt.Errorf("%w: %w", petcat.ErrOutcomeUnknown, err))
	default:
		return err
	}
}

// callerError returns a write's error with a message for API clients. The error itself, whose
// message is for operators, becomes the cause. then is the advice if the outcome of the write
// is unknown.
func callerError(err error, then string) error {
	switch {
	case err == nil || petcat.CodeOf(err) != petcat.CodeServiceUnavailable:
		return err
	case errors.Is(err, petcat.ErrOutcomeUnknown):
		return Unavailable(
			"the database cannot be written now, and this change may have been made; "+then,
			err)
	default:
		return Unavailable("the database cannot be written now, and nothing was changed; retry later", err)
	}
}

// Unavailable returns the error service_unavailable with a message for API clients.
func Unavailable(message string, cause error) error {
	return petcat.Errorf(petcat.CodeServiceUnavailable, "%s", message).WithCause(cause)
}
