package postgres

import (
	"context"
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
)

// defaultConnectTimeout holds for opening, and for commands, unless the URL says otherwise
// (connect_timeout): a database that sleeps needs some seconds to wake up.
const defaultConnectTimeout = 10 * time.Second

// patience is how long things may take. Its zero value is none: see newPatience.
type patience struct {
	connect time.Duration // after opening, unless the URL says otherwise
	// read bounds a read of a few rows, with the wait for a connection. row bounds the wait
	// for the next row of a read that no request waits for: at a start, or in a command.
	read, row time.Duration
	// write bounds a write, from its first byte to its commit.
	write time.Duration
	// lock and statement are the server's own bounds of a statement that writes, and idle of
	// the time between two statements of a transaction.
	lock, statement, idle time.Duration
}

// newPatience returns how long things may take before the database counts as away: for a
// server all in all less than the 5 s within which everything must work again after it is
// back. A statement gives up waiting for a lock before the caller gives up. A command may
// have to connect first.
func newPatience(serving bool, connect time.Duration) patience {
	p := patience{
		connect: 2 * time.Second, read: 1500 * time.Millisecond, row: 30 * time.Second, write: 3 * time.Second,
		lock: 2 * time.Second, statement: 2500 * time.Millisecond, idle: 2 * time.Second,
	}
	if !serving {
		p.connect = connect
		p.read += connect
		p.write += connect
	}
	return p
}

// A commit is answered when it is on the disk; remote_apply is more, and stays.
const durably = `set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)`

// settings begins a transaction that writes, and is the transaction's own: behind a pooler
// the next one may run on another connection. A node that stops in the middle of one does
// not block the others.
func (p patience) settings() string {
	return fmt.Sprintf(`SELECT %s, set_config('lock_timeout', '%d', true), set_config('statement_timeout', '%d', true),
		set_config('idle_in_transaction_session_timeout', '%d', true)`, durably, p.lock.Milliseconds(), p.statement.Milliseconds(), p.idle.Milliseconds())
}

// minVersion is major * 10,000 + minor.
const minVersion = 14_00_00

// parse reads a database's URL, and adds what connections need.
func parse(address petcat.Secret) (*pgxpool.Config, error) {
	// The driver's errors may repeat the URL, which may hold a password.
	const form = "the address of the database cannot be read; it looks like postgres://user:password@host:5432/database?sslmode=verify-full"
	scheme, _, found := strings.Cut(address.Reveal(), "://")
	if scheme = strings.ToLower(scheme); !found || scheme != "postgres" && scheme != "postgresql" {
		return nil, petcat.Unusablef(nil, "%s", form)
	}
	// With a second @ nobody can say where the password ends: what follows the first may be
	// the rest of it, and must not be shown as the name of a host.
	if strings.Count(address.Reveal(), "@") > 1 {
		return nil, petcat.Unusablef(nil, "the address of the database has more than one @; write an @ in the user, the password or a parameter as %%40")
	}
	pool, err := pgxpool.ParseConfig(address.Reveal())
	if _, notURL := url.Parse(address.Reveal()); notURL != nil {
		return nil, petcat.Unusablef(nil, "%s", form)
	} else if err != nil {
		// What is wrong is a parameter, a variable or a file that one of them names. Behind
		// the URL, the error names it.
		text := err.Error()
		return nil, petcat.Unusablef(nil, "a parameter of the database's URL, or a variable such as PGSSLMODE, cannot be used: %s; petcat config shows the variables",
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

// needed are settings of the server, the database or the role on which the store relies. The
// last ones could be set for each connection, but for poolers.
var needed = []struct { //nolint:gochecknoglobals // a table that nobody changes
	name, value, remedy string
}{
	{"fsync", "on", "it would lose acknowledged writes in a power cut; set fsync = on in postgresql.conf"},
	{"full_page_writes", "on", "it may damage its data in a power cut; set full_page_writes = on in postgresql.conf"},
	{"server_encoding", "UTF8", "create a database with: CREATE DATABASE petcat TEMPLATE template0 ENCODING 'UTF8'"},
	{"default_transaction_isolation", "read committed", ""},
	{"client_encoding", "UTF8", ""}, // some poolers do not pass ours on
	{"bytea_output", "hex", ""},
	{"standard_conforming_strings", "on", ""},
	{"session_replication_role", "origin", ""},
}

// checkServer asks a server whether it keeps what the store promises.
func checkServer(ctx context.Context, conn *pgx.Conn) error {
	const query = `SELECT current_setting('server_version_num')::int4, current_setting('server_version'),
		array_agg(current_setting(name) ORDER BY n) FROM unnest($1::text[]) WITH ORDINALITY AS s (name, n)`
	names := make([]string, len(needed))
	for i, setting := range needed {
		names[i] = setting.name
	}
	var number int
	var version string
	var values []string
	if err := conn.QueryRow(ctx, query, pgx.QueryExecModeExec, names).Scan(&number, &version, &values); err != nil {
		return err
	}
	if number < minVersion {
		return petcat.Unusablef(nil, "the server is PostgreSQL %s; use 14 or later", version)
	}
	for i, setting := range needed {
		if values[i] == setting.value {
			continue
		}
		remedy := setting.remedy
		if remedy == "" {
			remedy = fmt.Sprintf("reset it with ALTER ROLE ... RESET %[1]s, or ALTER DATABASE ... RESET %[1]s", setting.name)
		}
		return petcat.Unusablef(nil, "the database has %s = %s, and needs %s; %s", setting.name, values[i], setting.value, remedy)
	}
	return nil
}

// chooseMode makes connections of config use statements that are prepared once for each
// connection, which is cheaper, when the server itself is at the other end of conn. A pooler
// may give each transaction another connection: behind one, statements are prepared on each
// use. The address may choose itself, with default_query_exec_mode.
func chooseMode(ctx context.Context, conn *pgx.Conn, config *pgx.ConnConfig, address petcat.Secret) error {
	if strings.Contains(address.Reveal(), "default_query_exec_mode") {
		return nil
	}
	var pid uint32
	err := conn.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&pid)
	if err == nil && pid != conn.PgConn().PID() { // a pooler makes up the number that it tells its clients
		config.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	return err
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
