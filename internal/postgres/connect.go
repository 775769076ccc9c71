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

	"github.com/petcat-api/petcat"
)

// defaultConnectTimeout is for opening and for commands; connect_timeout in the URL overrides it.
// A suspended database needs some seconds to resume.
const defaultConnectTimeout = 10 * time.Second

// timeouts are the times after which the database counts as unavailable.
type timeouts struct {
	connect time.Duration // of connections after the first; connect_timeout in the URL overrides it
	// read is for a read of a few rows, including the wait for a connection. row is for the wait for
	// the next row of a read that no request waits for: at a start, or in a command.
	read, row time.Duration
	// write is for a write, from its begin to its commit.
	write time.Duration
	// The server enforces lock and statement for each statement of a write, and idle between
	// two statements of a transaction.
	lock, statement, idle time.Duration
}

// newTimeouts returns the timeouts of a server or a command. A server's timeouts add up to less than the
// 5 s within which it must recover. A statement stops waiting for a lock before its caller stops waiting.
// A command may have to connect first.
func newTimeouts(serving bool, connect time.Duration) timeouts {
	t := timeouts{
		connect: 2 * time.Second, read: 1500 * time.Millisecond, row: 30 * time.Second, write: 3 * time.Second,
		lock: 2 * time.Second, statement: 2500 * time.Millisecond, idle: 2 * time.Second,
	}
	if !serving {
		t.connect = connect
		t.read += connect
		t.write += connect
	}
	return t
}

// durably makes a commit wait for the disk, and send the warning that onNotice needs. It leaves
// remote_apply, which waits for more.
const durably = `set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true),
	set_config('client_min_messages', 'warning', true)`

// settings returns the statement with the settings of a write. They hold for its transaction,
// because behind a pooler the next one may run on another connection. They keep a node that
// hangs in a transaction from blocking other nodes.
func (t timeouts) settings() string {
	return fmt.Sprintf(`SELECT %s, set_config('lock_timeout', '%d', true), set_config('statement_timeout', '%d', true),
		set_config('idle_in_transaction_session_timeout', '%d', true)`, durably, t.lock.Milliseconds(), t.statement.Milliseconds(), t.idle.Milliseconds())
}

// minVersion is the oldest supported version, as major * 10,000 + minor.
const minVersion = 14_00_00

// parse parses a database URL and adds connection parameters.
func parse(address petcat.Secret) (*pgxpool.Config, error) {
	// The driver's errors may repeat the URL, which may contain a password.
	const form = "the address of the database cannot be read; it looks like postgres://user:password@host:5432/database?sslmode=verify-full"
	scheme, _, found := strings.Cut(address.Reveal(), "://")
	if scheme = strings.ToLower(scheme); !found || scheme != "postgres" && scheme != "postgresql" {
		return nil, petcat.Unusablef(nil, "%s", form)
	}
	// With a second @, the end of the password is ambiguous. The text after the first @ may belong
	// to it, and must not appear in messages as a host name.
	if strings.Count(address.Reveal(), "@") > 1 {
		return nil, petcat.Unusablef(nil,
			"the address of the database has more than one @; write an @ in the user, the password or a parameter as %%40")
	}
	pool, err := pgxpool.ParseConfig(address.Reveal())
	if _, notURL := url.Parse(address.Reveal()); notURL != nil {
		return nil, petcat.Unusablef(nil, "%s", form)
	} else if err != nil {
		// A parameter, a variable or a file that one of them refers to is wrong. The driver's error shows
		// it after the URL.
		text := err.Error()
		return nil, petcat.Unusablef(nil,
			"a parameter of the database's URL, or a variable such as PGSSLMODE, cannot be used: %s; petcat config shows the variables",
			text[strings.LastIndex(text, "`: ")+len("`: "):])
	}
	config := pool.ConnConfig
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "petcat"
	}
	// Poolers forward these two.
	config.RuntimeParams["client_encoding"] = "UTF8"
	config.RuntimeParams["timezone"] = "UTC"
	config.OnNotice = onNotice
	config.DialFunc = (&net.Dialer{KeepAliveConfig: keepAlive()}).DialContext // ConnectTimeout is for the whole connect
	// With several hosts, use the one that accepts writes: a standby's lists are stale.
	if config.ValidateConnect == nil {
		config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	return pool, nil
}

// keepAlive lets both sides of an idle connection notice within a minute that the other one is gone.
func keepAlive() net.KeepAliveConfig {
	return net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 10 * time.Second, Count: 3}
}

// setSession sets how long the server keeps a session. Otherwise it keeps sessions for hours after their
// client or network is gone, and each timed-out call leaves one behind. The URL, the role and the
// database may have other values. A pooler shares its sessions, so they stay as they are; it also invents
// the process number.
func setSession(ctx context.Context, conn *pgx.Conn, serving bool) error {
	const query = `
		SELECT count(set_config(name, value, false))
		FROM pg_settings JOIN (VALUES
			('idle_session_timeout', '0'),
			('tcp_keepalives_idle', '30'),
			('tcp_keepalives_interval', '10'),
			('tcp_keepalives_count', '3'),
			('tcp_user_timeout', $2)
		) AS ours (name, value) USING (name)
		WHERE source IN ('default', 'configuration file')
			AND pg_backend_pid() = $1`
	// A command may stop reading for longer, for example while its output is read page by page.
	userTimeout := "0"
	if serving {
		userTimeout = "30s"
	}
	_, err := conn.Exec(ctx, query, pgx.QueryExecModeExec, int64(conn.PgConn().PID()), userTimeout)
	return err
}

// needed lists settings of the server, the database or the role that the store relies on. It does
// not set them for each connection, because poolers may not forward them.
var needed = []struct { //nolint:gochecknoglobals // a constant table
	name, value, remedy string
}{
	{"fsync", "on", "it would lose acknowledged writes in a power cut; set fsync = on in postgresql.conf"},
	{"full_page_writes", "on", "it may damage its data in a power cut; set full_page_writes = on in postgresql.conf"},
	{"server_encoding", "UTF8", "create a database with: CREATE DATABASE petcat TEMPLATE template0 ENCODING 'UTF8'"},
	{"default_transaction_isolation", "read committed", ""},
	{"client_encoding", "UTF8", ""}, // some poolers do not forward the parameter
	{"bytea_output", "hex", ""},
	{"standard_conforming_strings", "on", ""},
	{"session_replication_role", "origin", ""},
}

// checkServer checks the version and the settings of a server.
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
		return petcat.Unusablef(nil, "the database has %s = %s and must have %s; %s", setting.name, values[i], setting.value, remedy)
	}
	return nil
}

// chooseMode turns off prepared statements in config if conn leads to a pooler, which may give each
// transaction another connection. Otherwise each connection prepares a statement once, which is faster.
// default_query_exec_mode in the URL overrides it.
func chooseMode(ctx context.Context, conn *pgx.Conn, config *pgx.ConnConfig, address petcat.Secret) error {
	if strings.Contains(address.Reveal(), "default_query_exec_mode") {
		return nil
	}
	var pid uint32
	err := conn.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&pid)
	if err == nil && pid != conn.PgConn().PID() { // poolers invent the number that they report
		config.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	return err
}

// Place returns the server and the database of an address for messages, without the password,
// and "" for an invalid address.
func Place(address petcat.Secret) string {
	config, err := parse(address)
	if err != nil {
		return ""
	}
	return place(config.ConnConfig)
}

// place returns a server and its database for messages, without the password.
func place(config *pgx.ConnConfig) string {
	return net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))) + "/" + config.Database
}
