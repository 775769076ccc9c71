package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"petcat"
	"petcat/internal/openerror"
)

// patience is how long things may take. Its zero value is none: see newPatience.
type patience struct {
	connect time.Duration
	// read bounds a read of a few rows, with the wait for a connection, and the wait for
	// the next row of a long one.
	read time.Duration
	// write bounds a write, from its first byte to its commit.
	write time.Duration
	// lock and statement are the server's own bounds of a statement that writes.
	lock, statement time.Duration
	// refill is how soon a server's pool makes the connections again that it has lost.
	refill time.Duration
}

// newPatience returns how long things may take before the database counts as away: all
// in all less than the 5 s within which everything must work again after it is back. A
// statement gives up waiting for a lock before the caller gives up.
func newPatience() patience {
	return patience{
		connect: 2 * time.Second, read: 1500 * time.Millisecond, write: 3 * time.Second,
		lock: 2 * time.Second, statement: 2500 * time.Millisecond, refill: 5 * time.Second,
	}
}

// A commit is answered when it is on the disk; remote_apply is more, and stays.
const durably = `set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)`

// settings begins a transaction that writes, and is the transaction's own: behind a pooler
// the next one may run on another connection. A node that stops in the middle of one does
// not block the others.
func (p patience) settings() string {
	return fmt.Sprintf(`SELECT %s, set_config('lock_timeout', '%d', true), set_config('statement_timeout', '%d', true),
		set_config('idle_in_transaction_session_timeout', '%[2]d', true)`, durably, p.lock.Milliseconds(), p.statement.Milliseconds())
}

// sessionSettings are a connection's: no pooler may be between.
func (p patience) sessionSettings() string {
	return fmt.Sprintf(`SELECT set_config('lock_timeout', '%d', false), set_config('statement_timeout', '%d', false)`, p.lock.Milliseconds(), p.statement.Milliseconds())
}

// Versions of the server: major * 10,000 + minor.
const (
	minVersion   = 14_00_00
	knownVersion = 18_99_99
)

// parse reads a database's URL, and adds what connections need.
func parse(address petcat.Secret) (*pgxpool.Config, error) {
	// The driver's errors may repeat the URL, which may hold a password.
	const form = "the address of the database cannot be read; it looks like postgres://user:password@host:5432/database?sslmode=verify-full"
	scheme, _, found := strings.Cut(address.Reveal(), "://")
	if scheme = strings.ToLower(scheme); !found || scheme != "postgres" && scheme != "postgresql" {
		return nil, openerror.Errorf(openerror.BadAddress, nil, "%s", form)
	}
	// With a second @ nobody can say where the password ends: what follows the first may be
	// the rest of it, and must not be shown as the name of a host.
	if strings.Count(address.Reveal(), "@") > 1 {
		return nil, openerror.Errorf(openerror.BadAddress, nil, "the address of the database has more than one @; write an @ in the user, the password or a parameter as %%40")
	}
	pool, err := pgxpool.ParseConfig(address.Reveal())
	if _, notURL := url.Parse(address.Reveal()); notURL != nil {
		return nil, openerror.Errorf(openerror.BadAddress, nil, "%s", form)
	} else if err != nil {
		// What is wrong is a parameter, a variable or a file that one of them names. Behind
		// the URL, the error names it.
		text := err.Error()
		return nil, openerror.Errorf(openerror.BadAddress, nil, "a parameter of the database's URL, or a variable such as PGSSLMODE, cannot be used: %s; petcat config shows the variables",
			text[strings.LastIndex(text, "`: ")+len("`: "):])
	}
	config := pool.ConnConfig
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "petcat"
	}
	// These two are among the few that poolers pass on.
	config.RuntimeParams["client_encoding"] = "UTF8"
	config.RuntimeParams["timezone"] = "UTC"
	// Of several hosts, and after a switch, the one that takes writes: a standby
	// answers too, with lists that are out of date.
	if config.ValidateConnect == nil {
		config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	return pool, nil
}

// checkServer asks a server whether it keeps what the store promises. It returns
// its version when that is newer than those that were tested.
func checkServer(ctx context.Context, conn *pgx.Conn) (newer string, err error) {
	const query = `SELECT current_setting('server_version_num')::int4, current_setting('server_version'),
		current_setting('fsync'), current_setting('full_page_writes'), current_setting('server_encoding'),
		current_setting('default_transaction_isolation')`
	var number int
	var version, fsync, fullPages, encoding, isolation string
	err = conn.QueryRow(ctx, query, pgx.QueryExecModeExec).Scan(&number, &version, &fsync, &fullPages, &encoding, &isolation)
	switch {
	case err != nil:
		return "", err
	case number < minVersion:
		return "", openerror.Errorf(openerror.Unsupported, nil, "the server is PostgreSQL %s; use 14 or later", version)
	case fsync != "on":
		return "", openerror.Errorf(openerror.Unsafe, nil, "the server runs with fsync=%s and would lose acknowledged writes in a power cut; set fsync = on in postgresql.conf", fsync)
	case fullPages != "on":
		return "", openerror.Errorf(openerror.Unsafe, nil, "the server runs with full_page_writes=%s and may damage its data in a power cut; set full_page_writes = on in postgresql.conf", fullPages)
	case encoding != "UTF8":
		return "", openerror.Errorf(openerror.Unsupported, nil, "the database's encoding is %s; create one with: CREATE DATABASE petcat TEMPLATE template0 ENCODING 'UTF8'", encoding)
	case isolation != "read committed":
		return "", openerror.Errorf(openerror.Unsafe, nil, "the default transaction isolation is %s; reset it with: ALTER ROLE ... SET default_transaction_isolation = 'read committed'", isolation)
	case number > knownVersion:
		return version, nil
	default:
		return "", nil
	}
}

// Explain turns an error of a connection to a database into an [openerror.Error], if it is
// one of those that it knows.
func Explain(err error, address petcat.Secret) error { return explain(err, Place(address)) }

// explain turns an error while opening into one sentence.
func explain(err error, where string) error {
	if _, ok := errors.AsType[*openerror.Error](err); ok || err == nil {
		return err
	}
	state, severity := sqlState(err), severityOf(err)
	switch {
	case state == "28P01" || state == "28000" || state == "3D000" || state == "3F000" || state == "42501":
		return openerror.Errorf(openerror.Refused, err, "the database server at %s refuses the login (%s); check user, password, database and permissions", where, message(err))
	case state == "42P07" || state == "42710":
		return openerror.Errorf(openerror.Foreign, err, "the database at %s contains tables of another program (%s); use a separate database or schema", where, message(err))
	case state == "25006" || errors.Is(err, pgconn.ErrReadOnlyConnection):
		return openerror.Errorf(openerror.Unwritable, err, "the database at %s cannot be written (%s); use the address of the primary server", where, message(err))
	case state == "XX001" || state == "XX002":
		return openerror.Errorf(openerror.Damaged, err, "the database at %s is damaged (%s); restore a backup", where, message(err))
	case isCertificate(err):
		return openerror.Errorf(openerror.Unreachable, err, "the database server at %s shows a certificate that is not accepted (%s); renew it, or check the address and its sslrootcert", where, message(err))
	case severity != statement:
		return openerror.Errorf(openerror.Unreachable, err, "the database server at %s cannot be reached (%s); start it, or check the address", where, message(err))
	default:
		return err
	}
}

func isCertificate(err error) bool {
	_, is := errors.AsType[*tls.CertificateVerificationError](err)
	return is
}

// message returns what the server said, or what the network did, or else the
// error's text, in one line. The driver repeats the network's once for each way
// that it tried.
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

// Place names the server and the database of an address for people, without a
// password; "" when the address cannot be read.
func Place(address petcat.Secret) string {
	config, err := parse(address)
	if err != nil {
		return ""
	}
	return place(config.ConnConfig)
}

// place names a server and database for people, without a password.
func place(config *pgx.ConnConfig) string {
	return net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))) + "/" + config.Database
}
