package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/store"
)

// severity is the effect of an error on its operation.
type severity int

const (
	// statement: the statement is wrong, and only it fails.
	statement severity = iota
	// temporary: the server rejected it for now, without any effect.
	temporary
	// unreachable: there was no connection.
	unreachable
	// lost: the connection broke, or the server did not respond. The outcome of a commit is unknown.
	lost
)

// states has the meaning of SQLSTATEs by prefix; the first match counts. The sentence is the error
// of Open; its verbs are the place and the server's message.
var states = []struct { //nolint:gochecknoglobals // a constant table
	state    string
	severity severity
	later    bool // opening may succeed later
	sentence string
}{
	{"08P01", temporary, false, "the server at %s rejects the connection (%s); if it is a pooler, check its database, login and mode (transaction or session), and remove startup parameters that it does not accept from the URL"},
	{"08", temporary, true, ""},
	{"0A000", temporary, false, "the server at %s does not support a statement (%s); use PostgreSQL 14 or later"}, // or the schema has changed since the statement was prepared
	{"22023", statement, false, "the server at %s rejects the value of a parameter of the URL (%s); correct it"},
	{"25006", temporary, false, "the database at %s cannot be written (%s); use the address of the primary server, or reset default_transaction_read_only of the role and the database"},
	{"25", temporary, true, ""},
	{"26000", temporary, false, noStatements},
	{"28", statement, false, "the database server at %s rejects the login (%s); check user and password, or allow it in pg_hba.conf"},
	{"3D000", statement, false, "the database server at %s has no such database (%s); create it, or check the name"},
	{"3F000", statement, false, "the database at %s has no such schema (%s); create it, or check search_path"},
	{"40", temporary, true, ""},
	{"42501", statement, false, "the database server at %s denies permission (%s); grant the role the privilege"},
	{"42704", statement, false, "the server at %s does not know a parameter of the URL (%s); remove it, and name a schema with search_path"},
	{"42P05", temporary, false, noStatements},
	{"42P07", statement, false, foreign},
	{"42710", statement, false, foreign},
	{"53300", temporary, true, "the database server at %s has too few connections (%s); a node needs 11 (pool_max_conns of the URL and 3 more), a backup and a command 2 each: raise max_connections, or the CONNECTION LIMIT of the role or the database, or end other clients"},
	{diskFull, temporary, true, "the disk of the database server at %s is full (%s); free some space"},
	{"53", temporary, true, "the database server at %s is out of a resource (%s); try again when it is available"},
	{lockTimeout, temporary, true, "another program holds a lock in the database at %s (%s); try again when it has finished"},
	{"57014", temporary, true, "a statement timed out in the database at %s (%s); raise statement_timeout of the role"},
	{"57", temporary, true, "the database server at %s is starting or stopping (%s); try again in a moment"},
	{"58", temporary, true, "the database server at %s has a system error (%s); check its log"},
	{"XX001", statement, false, damaged},
	{"XX002", statement, false, damaged},
}

const (
	noStatements = "a pooler at %s does not support prepared statements (%s); add default_query_exec_mode=exec to the database URL"
	foreign      = "the database at %s contains tables of another program (%s); use a separate database or schema"
	damaged      = "the database at %s is damaged (%s); stop petcat and restore a backup"
)

// connError is a connection error: unreachable if the request was not sent, otherwise lost.
type connError struct {
	error

	severity severity
}

func (e *connError) Unwrap() error { return e.error }

// commitError is an error after a commit was sent.
type commitError struct{ error }

func (e *commitError) Unwrap() error { return e.error }

// Errors that do not come from the driver.
var (
	errNoResponse = errors.New("the database did not respond in time")
	errNoRoom     = errors.New("all connections to the database are in use")
	// errNotReplicated: the write is on the primary's disk, but a failover may lose it.
	errNotReplicated = errors.New("the wait for the synchronous standby was canceled")
)

// SQLSTATEs.
const (
	diskFull    = "53100"
	lockTimeout = "55P03"
)

// sqlState returns the SQLSTATE of an error, "" if it does not come from the server.
func sqlState(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// severityOf classifies errors by their types and SQLSTATEs, never by text.
func severityOf(err error) severity {
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	connection, ok := errors.AsType[*connError](err)
	if connecting || ok && connection.severity == unreachable {
		return unreachable
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		if s := e.SeverityUnlocalized; s == "FATAL" || s == "PANIC" {
			return lost // the server closes the connection after such an error
		}
		for _, s := range states {
			if strings.HasPrefix(e.Code, s.state) {
				return s.severity
			}
		}
		return statement
	}
	if ok {
		return lost
	}
	return statement
}

// maybeCommitted reports whether a transaction that failed with err may have committed. It has not if the
// server rejected the commit with an error of this transaction.
func maybeCommitted(err error) bool {
	if _, ok := errors.AsType[*commitError](err); !ok {
		return false
	}
	state := sqlState(err)
	return severityOf(err) != statement && (state == "40003" || !strings.HasPrefix(state, "40"))
}

// translate turns a database error into a domain error. It keeps domain errors and errors of the caller's
// context.
func translate(err error, doing string) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*petcat.Error](err); ok {
		return e
	}
	wrapped := fmt.Errorf("postgres: %s: %w", doing, err)
	if maybeCommitted(err) {
		return store.Unavailable(
			"the database did not respond, and the change may have been made; check before you retry", fmt.Errorf("%w: %w", petcat.ErrOutcomeUnknown, wrapped))
	}
	switch sqlState(err) {
	case "XX001", "XX002":
		wrapped = petcat.Unusablef(wrapped, "the database is damaged; stop petcat and restore a backup")
	case "26000", "42P05":
		wrapped = petcat.Unusablef(wrapped,
			"a pooler does not support prepared statements; add default_query_exec_mode=exec to the database URL")
	}
	if severityOf(err) == statement {
		return wrapped
	}
	return store.Unavailable("the data is temporarily unavailable; retry later", wrapped)
}

// explain turns an error of Open into one sentence. An error that a server returned is a configuration
// error, unless it is temporary.
func explain(err error, where string) error {
	if _, ok := errors.AsType[*petcat.UnusableError](err); ok || err == nil {
		return err
	}
	said := message(err)
	state, rejected := sqlState(err), severityOf(err)
	for _, s := range states {
		if state != "" && strings.HasPrefix(state, s.state) && s.sentence != "" {
			e := petcat.Unusablef(err, s.sentence, where, said)
			e.Temporary = s.later
			return e
		}
	}
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case errors.Is(err, pgconn.ErrReadOnlyConnection):
		return explain(&pgconn.PgError{Code: "25006", Message: said}, where)
	case certificate:
		return petcat.TemporarilyUnusablef(err,
			"the database server at %s presents an invalid certificate (%s); renew it, or check the address and its sslrootcert", where, said)
	case state != "" && rejected != statement:
		return petcat.Unusablef(err,
			"the database server at %s rejects the connection (%s, SQLSTATE %s); check the address and its parameters", where, said, state)
	case rejected != statement:
		return petcat.TemporarilyUnusablef(err,
			"the database server at %s cannot be reached (%s); start it, or check the address", where, said)
	default:
		return err
	}
}

// message returns the server's or the network's message, or else the text of the error, in one line. The
// driver's text repeats the network's message for each address that it tried.
func message(err error) string {
	text := err.Error()
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		text = e.Message
	} else if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		text = strings.TrimPrefix(e.Err.Error(), "x509: ")
	} else if errors.Is(err, context.DeadlineExceeded) {
		text = "it does not respond in time"
	} else if e, ok := errors.AsType[*net.DNSError](err); ok {
		text = e.Err
	} else if e, ok := errors.AsType[*net.OpError](err); ok {
		text = e.Err.Error()
	}
	return strings.Join(strings.Fields(text), " ")
}
