package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"petcat"
	"petcat/internal/breaker"
	"petcat/internal/openerror"
	"petcat/internal/store"
)

// severity is what an error means for the operation that met it.
type severity int

const (
	// statement: something was wrong with what was asked; it alone fails.
	statement severity = iota
	// temporary: the server refused it for now, and nothing of it happened.
	temporary
	// unreachable: there was no connection to ask it over.
	unreachable
	// lost: the connection broke, or the answer did not come; if the query
	// was a commit, nobody knows its outcome.
	lost
)

// unreachableError says that nothing was sent.
type unreachableError struct{ error }

func (e *unreachableError) Unwrap() error { return e.error }

// lostError says that the connection broke after something was sent.
type lostError struct{ error }

func (e *lostError) Unwrap() error { return e.error }

// Causes of contexts that this package ends.
var (
	errNoAnswer     = errors.New("the database did not answer in time")
	errNoRoom       = errors.New("all connections to the database are in use, and too many wait for one")
	errNoConnection = errors.New("no connection to the database")
)

// sqlState returns the SQLSTATE of an error, "" when it is not the server's.
func sqlState(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// severityOf tells errors apart by their types and SQLSTATEs, never by text.
func severityOf(err error) severity {
	if _, ok := errors.AsType[*unreachableError](err); ok {
		return unreachable
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return unreachable
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return severityOfState(e)
	}
	if _, ok := errors.AsType[*lostError](err); ok {
		return lost
	}
	return statement
}

func severityOfState(e *pgconn.PgError) severity {
	if s := e.SeverityUnlocalized; s == "FATAL" || s == "PANIC" {
		return lost // the server ends the connection after such an error
	}
	switch e.Code {
	case "26000", "42P05", // prepared statements that are not the connection's own
		"0A000", // a cached plan that a change of the schema made useless
		"25006", // read-only: a standby, after a switch
		"55P03", // a lock was not to be had in time
		"57014": // the statement took too long
		return temporary
	}
	if len(e.Code) < 2 {
		return statement
	}
	switch e.Code[:2] {
	case "08", // connections
		"25", // the state of the transaction
		"40", // serialization, deadlock
		"53", // no disk space, memory, connections
		"57", // the operator intervened
		"58": // the system around the server
		return temporary
	default:
		return statement
	}
}

// outcomeOf says what an error tells of whether the database is there. ctx is
// the caller's.
func outcomeOf(ctx context.Context, err error) breaker.Outcome {
	switch {
	case err == nil:
		return breaker.Answered
	case errors.Is(err, errNoAnswer), errors.Is(err, errNoConnection):
		return breaker.Failed
	case ctx.Err() != nil, errors.Is(err, errNoRoom):
		return breaker.Unknown
	case severityOf(err) == unreachable:
		return breaker.Failed
	case severityOf(err) == lost && sqlState(err) == "":
		// One broken connection proves nothing; the next attempt to connect
		// does.
		return breaker.Unknown
	default:
		return breaker.Answered
	}
}

// translate turns an error of the database into one of the domain. Errors of the
// domain, and those of a caller's context, pass as they are.
func translate(err error, doing string) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*petcat.Error](err); ok {
		return e
	}
	wrapped := fmt.Errorf("postgres: %s: %w", doing, err)
	switch sqlState(err) {
	case "XX001", "XX002":
		wrapped = openerror.Errorf(openerror.Damaged, wrapped, "the database is damaged; stop petcat and restore a backup")
	case "26000", "42P05":
		wrapped = openerror.Errorf(openerror.Unsafe, wrapped, "a pooler does not support prepared statements; add default_query_exec_mode=exec to the database URL")
	}
	if severityOf(err) == statement {
		return wrapped
	}
	return store.Unavailable("the data cannot be reached at the moment; retry later", wrapped)
}
