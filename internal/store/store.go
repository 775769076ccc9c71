// Package store implements all operations on stored data, and contains all SQL statements, once
// for both databases. Packages sqlite and postgres provide the [DB] that runs the statements,
// and a [Dialect].
//
// Each change of the domain's data runs in a transaction that locks the counter row ([Tx]),
// together with its audit entry. A failed operation changes nothing.
//
// Connections, commits, migrations and database errors belong to sqlite and postgres. When the
// database is unavailable, operations return the error of the DB.
package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/groupcommit"
)

// Store implements the operations on one dataset. It is safe for concurrent use.
type Store struct {
	db       DB
	dialect  Dialect
	meta     Meta
	clock    clock.Clock
	inFlight sync.Map // of scopedKey: creates in flight in this process
	// accessChanged is called after each change of an account, a key or a ban.
	accessChanged func(context.Context)
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

// OnAccessChange sets a function that is called after each committed change of an account, a
// key or a ban by this process, before the operation returns. Call it before the store is used
// concurrently.
func (s *Store) OnAccessChange(fn func(context.Context)) { s.accessChanged = fn }

// Dataset returns the dataset name, which is random and set when the data is created.
func (s *Store) Dataset() string { return s.meta.Dataset }

// Environment returns the environment that the data belongs to.
func (s *Store) Environment() petcat.Environment { return s.meta.Environment }

// Created reports whether opening this store created the data.
func (s *Store) Created() bool { return s.meta.Created }

// Change runs fn in a transaction that locks the counter row. It is for operations that do not
// begin their transaction themselves yet.
func (s *Store) Change(ctx context.Context, doing string, fn func(*Tx) error) error {
	return s.change(ctx, Work{Doing: doing}, fn)
}

func (s *Store) change(ctx context.Context, w Work, fn func(*Tx) error) error {
	tx, err := s.begin(ctx, w)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := fn(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// change runs fn in a transaction that locks the counter row, and returns its result after the
// commit.
func change[T any](ctx context.Context, s *Store, w Work, fn func(*Tx) (T, error)) (T, error) {
	return result(func(fn func(*Tx) error) error { return s.change(ctx, w, fn) }, fn)
}

// read runs fn, which reads a few rows, and returns its result.
func read[T any](ctx context.Context, s *Store, doing string, fn func(Conn) (T, error)) (T, error) {
	return result(func(fn func(Conn) error) error { return s.db.Read(ctx, doing, fn) }, fn)
}

// result calls run with a function that calls fn, and returns the result of fn. If run fails,
// fn may still be running, so its result is not read.
func result[C, T any](run func(func(C) error) error, fn func(C) (T, error)) (T, error) {
	var v, none T
	err := run(func(c C) (err error) {
		v, err = fn(c)
		return err
	})
	if err != nil {
		return none, err
	}
	return v, nil
}

// list returns the rows of a query.
func list[T any](ctx context.Context, s *Store, doing string, into columns[T], query string, args ...any) ([]T, error) {
	return read(ctx, s, doing, func(c Conn) ([]T, error) { return all(c, into, query, args...) })
}

// listEach returns the rows of a query for each element of args, in order.
func listEach[T any](ctx context.Context, s *Store, doing string, into columns[T], query string, args [][]any) ([]T, error) {
	return read(ctx, s, doing, func(c Conn) (rows []T, err error) {
		err = c.QueryEach(func(_ int, scan Scan) error {
			var v T
			err := scan(into(&v)...)
			rows = append(rows, v)
			return err
		}, query, args)
		return rows, err
	})
}

// each calls fn for every row of a query; the first row may take long. It stops at the first
// error of fn and returns it unchanged, because it is not a database error.
func each[T any](ctx context.Context, s *Store, doing string, into columns[T], fn func(T) error, query string, args ...any) error {
	var stopped error
	var v T // one for all of a million rows
	columns := into(&v)
	err := s.db.Each(ctx, doing, func(scan Scan) error {
		v = *new(T)
		if err := scan(columns...); err != nil {
			return err
		}
		if stopped = fn(v); stopped != nil {
			return fmt.Errorf("stopped: %s", stopped.Error()) // without its chain
		}
		return nil
	}, query, args...)
	return cmp.Or(stopped, err)
}

// Exec commits one statement without the lock on the counter row, and returns the number of
// changed rows.
func (s *Store) Exec(ctx context.Context, doing, query string, args ...any) (changed int64, err error) {
	w, err := s.db.BeginWrite(ctx, doing)
	if err != nil {
		return 0, err
	}
	defer w.Rollback()
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

// Now returns the wall-clock time in whole milliseconds, the precision of stored times.
func Now(c clock.Clock) time.Time { return c.Read().Time().Truncate(time.Millisecond) }

// stored returns a time in UTC and whole milliseconds, the precision of stored times.
func stored(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// millis returns a time in Unix milliseconds, nil for the zero time.
func millis(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

func notFound(format string, args ...any) error {
	return petcat.Errorf(petcat.CodeNotFound, format, args...)
}

func invalid(format string, args ...any) *petcat.Error {
	return petcat.Errorf(petcat.CodeInvalidField, format, args...)
}

// SubmitError translates an error of the write queue into an error of the domain. It returns
// errors of a commit unchanged.
func SubmitError(err error) error {
	switch {
	case errors.Is(err, groupcommit.ErrFull):
		return Unavailable("too many writes are waiting; retry in a moment", err)
	case errors.Is(err, groupcommit.ErrClosed):
		return Unavailable("the service is stopping; retry in a moment", err)
	case errors.Is(err, groupcommit.ErrAbandoned):
		return Unavailable("the write took too long and may still happen; repeat it with the same Idempotency-Key", fmt.Errorf("%w: %w", petcat.ErrOutcomeUnknown, err))
	default:
		return err
	}
}

// callerError returns a write's error with a message for API callers. The error itself, whose
// message is for operators, becomes the cause. then is the advice if the outcome of the write
// is unknown.
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

// Unavailable returns the error service_unavailable with a message for API callers.
func Unavailable(message string, cause error) error {
	return petcat.Errorf(petcat.CodeServiceUnavailable, "%s", message).WithCause(cause)
}
