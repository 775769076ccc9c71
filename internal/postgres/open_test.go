package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/pgtest"
	"github.com/petcat-api/petcat/internal/store"
	"github.com/petcat-api/petcat/internal/storetest"
)

// wantOpenError checks that err is a [petcat.UnusableError] in one line that contains a text and a
// remedy.
func wantOpenError(t *testing.T, err error, want string) {
	t.Helper()
	e, ok := errors.AsType[*petcat.UnusableError](err)
	oneLine := ok && !strings.Contains(e.Message, "\n")
	if !oneLine || !strings.Contains(e.Message, want) || !strings.Contains(e.Message, ";") {
		t.Fatalf("open = %v, want %q and a remedy", err, want)
	}
}

// filled returns a database with a category.
func filled(t *testing.T) string {
	t.Helper()
	url := server.Server(t).Database(t)
	s := openAt(t, url, Options{Serving: true})
	create(t, s, "Dogs")
	closeNow(t, s)
	return url
}

// set returns a statement that changes a setting of the database.
func set(setting string) string {
	return "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET " + setting + "', current_database()); END $$"
}

func TestRejectedDatabases(t *testing.T) {
	for _, tt := range []struct {
		name       string
		statements string // run in a filled database
		options    Options
		want       string
	}{
		{"another environment", "", Options{Environment: petcat.Staging}, "belongs to the production environment"},
		{
			"another program", "DROP TABLE petcat_schema; DROP TABLE meta, counter", Options{},
			"contains tables of another program",
		},
		{"read-only", set("default_transaction_read_only = on"), Options{}, "cannot be written"},
		{
			"isolation", set("default_transaction_isolation = serializable"), Options{},
			"RESET default_transaction_isolation",
		},
		{"role of replication", set("session_replication_role = replica"), Options{}, "RESET session_replication_role"},
		{"bytea_output", set("bytea_output = escape"), Options{}, "RESET bytea_output"},
		{"backslashes", set("standard_conforming_strings = off"), Options{}, "RESET standard_conforming_strings"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			url := filled(t)
			if tt.statements != "" {
				server.Server(t).Execute(t, url, tt.statements)
			}
			_, err := tryOpen(t, url, tt.options)
			wantOpenError(t, err, tt.want)
			address, _ := pgtest.StartPooler(t, url)
			_, err = tryOpen(t, pgtest.ByTCP(url, address), tt.options)
			wantOpenError(t, err, tt.want)
		})
	}
}

// TestUnusualSettings: the store works with any other setting of the database, also behind a pooler.
func TestUnusualSettings(t *testing.T) {
	url := filled(t)
	for _, setting := range []string{
		"array_nulls = off",
		"bytea_output = hex",
		"datestyle = ''SQL, DMY''",
		"enable_indexscan = off",
		"escape_string_warning = on",
		"extra_float_digits = -15",
		"idle_in_transaction_session_timeout = 10000",
		"intervalstyle = sql_standard",
		"lc_messages = ''C''",
		"plan_cache_mode = force_generic_plan",
		"quote_all_identifiers = on",
		"row_security = off",
		"synchronous_commit = off",
		"timezone = ''Asia/Kathmandu''",
		"transform_null_equals = on",
		"xmlbinary = hex",
	} {
		server.Server(t).Execute(t, url, set(setting))
	}
	address, _ := pgtest.StartPooler(t, url)
	for name, url := range map[string]string{"direct": url, "behind a pooler": pgtest.ByTCP(url, address)} {
		s := openAt(t, url, Options{})
		account := name + " Ž"
		_, err := s.CreateAccount(t.Context(), petcat.By("cli:ada"), petcat.NewAccount{
			Name:         petcat.AccountName(account),
			Subscription: mustSubscription(t),
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if found, err := s.FindAccount(t.Context(), account); err != nil || found.Name != account {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
		for range 2 {
			c, err := tryCreate(t.Context(), t, s, "Ž", petcat.IdempotencyKey(name))
			if err != nil || c.Category.Name != "Ž" {
				t.Errorf("%s: %+v, %v", name, c, err)
			}
		}
		err = s.EachAuditEntry(t.Context(), petcat.AuditQuery{}, func(petcat.AuditEntry) error { return nil })
		_, charged := s.Charge(t.Context(), oneCharge(1))
		if err != nil || charged != nil {
			t.Errorf("%s: %v, %v", name, err, charged)
		}
		closeNow(t, s)
	}
}

// TestConnectTimeout: connect_timeout of the URL holds for commands and servers. Without it, servers wait
// less than commands, because their requests also wait.
func TestConnectTimeout(t *testing.T) {
	url := server.Database(t)
	for _, tt := range []struct {
		more    string
		serving bool
		want    time.Duration
	}{
		{"", false, defaultConnectTimeout},
		{"", true, 2 * time.Second},
		{"&connect_timeout=30", false, 30 * time.Second},
		{"&connect_timeout=30", true, 30 * time.Second},
	} {
		usual := newTimeouts(tt.serving, defaultConnectTimeout)
		s := openAt(t, url+tt.more, Options{Serving: tt.serving, timeouts: &usual})
		if got := s.readers.Config().ConnConfig.ConnectTimeout; got != tt.want {
			t.Errorf("with %q, serving %t: %s, want %s", tt.more, tt.serving, got, tt.want)
		}
		closeNow(t, s)
	}
}

// TestTooFewConnections: the error for a connection limit names the remedy.
func TestTooFewConnections(t *testing.T) {
	url := server.Server(t).Database(t)
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	owner, role := pgtest.Connect(t, url), "few_"+config.Database
	pgtest.Execute(t, owner, `CREATE ROLE `+role+` LOGIN CONNECTION LIMIT 0`)
	t.Cleanup(func() { pgtest.Execute(t, owner, `DROP ROLE `+role) })
	address := server.Server(t).Address()
	_, err = tryOpen(t, "postgres://"+role+"@"+address+"/"+config.Database+"?sslmode=disable", Options{})
	wantOpenError(t, err, "a node needs 11")
}

// TestMigrations: a database gets missing migrations, and one with more migrations, of a newer
// version, works.
func TestMigrations(t *testing.T) {
	url := filled(t)
	conn := pgtest.Connect(t, url)
	all := append(migrations(), "CREATE TABLE next (id int);")
	for range 2 {
		if err := migrate(t.Context(), conn, all, Options{}); err != nil {
			t.Fatal(err)
		}
	}
	pgtest.Execute(t, conn, "INSERT INTO next VALUES (1)")
	s := openAt(t, url, Options{})
	defer s.Close()
	create(t, s, "Dogs")
}

// TestNoData: if data must exist, a database without data is rejected and not changed.
func TestNoData(t *testing.T) {
	url := server.Server(t).Database(t)
	_, err := tryOpen(t, url, Options{MustExist: true})
	wantOpenError(t, err, "contains no petcat data")
	server.Server(t).Execute(t, url, "DO $$ BEGIN ASSERT to_regclass('petcat_schema') IS NULL; END $$")
	made, err := tryOpen(t, url, Options{})
	if err != nil {
		t.Fatal(err)
	}
	_ = made.Close()
	again, err := tryOpen(t, url, Options{MustExist: true})
	if err != nil {
		t.Fatalf("with data: %v", err)
	}
	_ = again.Close()
}

func TestRejectedAddresses(t *testing.T) {
	const form = "it looks like postgres://"
	url := server.Server(t).Database(t)
	const secret = "postgres://petcat:hunter2@"
	for _, tt := range []struct {
		name, url string
		want      string
	}{
		{"no database of that name", strings.Replace(url, "/test", "/nobodys", 1), "has no such database"},
		{"no user of that name", strings.Replace(url, "user=petcat", "user=nobody", 1), "rejects the login"},
		{
			"no server", secret + "127.0.0.1:1/petcat",
			"127.0.0.1:1/petcat cannot be reached (connect: connection refused)",
		},
		{"another scheme", "mysql://petcat:hunter2@localhost/petcat", form},
		{"no scheme", "petcat:hunter2@localhost/petcat", form},
		{"bad port", secret + "localhost:x/petcat", form},
		{"an unknown sslmode", secret + "localhost/petcat?sslmode=perhaps", "sslmode"},
		{"another sslmode", secret + "localhost/petcat?sslmode=no-verify", "sslmode"},
		{"no such file", secret + "localhost/petcat?sslmode=verify-full&sslrootcert=/nowhere.pem", "/nowhere.pem"},
		{"a parameter of another driver", url + "&pgbouncer=true", "does not know a parameter of the URL"},
		{"a schema of another driver", url + "&schema=public", "does not know a parameter of the URL"},
		{"a parameter without a meaning", url + "&datestyle=perhaps", "rejects the value of a parameter"},
		{"@ in the password", "postgres://petcat:a@hunter2!@localhost/petcat", "more than one @"},
		{"empty", "", form},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tryOpen(t, tt.url, Options{})
			wantOpenError(t, err, tt.want)
			if strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), "hunter2") {
				t.Error("the error contains the password")
			}
		})
	}
}

// TestRejectedServers replaces current_setting by a function in a schema that precedes pg_catalog in
// the search path.
func TestRejectedServers(t *testing.T) {
	for _, tt := range []struct {
		name, says string
		want       string
	}{
		{"server_version_num", "130018", "use 14 or later"},
		{"fsync", "off", "set fsync = on"},
		{"full_page_writes", "off", "set full_page_writes = on"},
		{"server_encoding", "LATIN1", "ENCODING 'UTF8'"},
	} {
		t.Run(tt.name+" "+tt.says, func(t *testing.T) {
			pg := server.Server(t)
			url := pg.Database(t)
			pg.Execute(t, url, `CREATE SCHEMA liar`)
			pg.Execute(t, url, fmt.Sprintf(`CREATE FUNCTION liar.current_setting(name text) RETURNS text LANGUAGE sql
				AS $$ SELECT CASE name WHEN '%s' THEN '%s' ELSE pg_catalog.current_setting(name) END $$`, tt.name, tt.says))
			_, err := tryOpen(t, url+"&search_path=liar,pg_catalog,public", Options{})
			wantOpenError(t, err, tt.want)
		})
	}
}

// TestSettingsOfWrites: a write sets its own settings, whatever the settings of the database are.
func TestSettingsOfWrites(t *testing.T) {
	url := server.Server(t).Database(t)
	for weaker, want := range map[string]string{
		"off":          "on",
		"local":        "on",
		"remote_write": "on",
		"on":           "on",
		"remote_apply": "remote_apply",
	} {
		server.Server(t).Execute(t, url, set("synchronous_commit = "+weaker))
		usual := newTimeouts(true, 0)
		s := openAt(t, url, Options{timeouts: &usual})
		var got, timeout string
		const both = `SELECT current_setting('synchronous_commit'), current_setting('lock_timeout')`
		err := s.Change(t.Context(), "look", func(tx *store.Tx) error {
			return tx.Query(func(scan store.Scan) error { return scan(&got, &timeout) }, both)
		})
		if err != nil || got != want || timeout != "2s" {
			t.Errorf("with %s: a change commits with %s and locks for %s, %v; want %s", weaker, got, timeout, err, want)
		}
		// A trigger sees the settings of its transaction.
		server.Server(t).Execute(t, url, `CREATE TABLE IF NOT EXISTS seen (setting text, timeout text);
			CREATE OR REPLACE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
				INSERT INTO seen `+both+`; RETURN NULL; END $$;
			CREATE OR REPLACE TRIGGER look AFTER INSERT ON categories EXECUTE FUNCTION look()`)
		for _, key := range []string{"", "key-" + weaker} {
			server.Server(t).Execute(t, url, "TRUNCATE seen")
			if _, err := tryCreate(t.Context(), t, s, "Dogs", petcat.IdempotencyKey(key)); err != nil {
				t.Fatal(err)
			}
			seen := pgtest.Connect(t, url).QueryRow(t.Context(), "SELECT setting, timeout FROM seen")
			err := seen.Scan(&got, &timeout)
			if err != nil || got != want || timeout != "2s" {
				t.Errorf("with %s: a create commits with %s and locks for %s, %v; want %s", weaker, got, timeout, err, want)
			}
		}
		closeNow(t, s)
	}
}

// sessionSettings returns the settings of a connection of a store that [setSession] sets.
func sessionSettings(t *testing.T, s *stored) map[string]string {
	t.Helper()
	settings := make(map[string]string)
	for _, name := range []string{
		"idle_session_timeout",
		"tcp_keepalives_idle",
		"tcp_keepalives_interval",
		"tcp_keepalives_count",
		"tcp_user_timeout",
	} {
		err := s.charges.with(t.Context(), func(ctx context.Context, c *pgx.Conn) error {
			var value string
			err := c.QueryRow(ctx, "SHOW "+name, pgx.QueryExecModeExec).Scan(&value)
			settings[name] = value
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return settings
}

// TestSessionSettings: the server drops sessions whose client is gone, and keeps idle ones. The operator
// may set other values in the URL, for the role or for the database. A pooler's sessions are not changed.
func TestSessionSettings(t *testing.T) {
	url := server.Database(t)
	tcp := pgtest.ByTCP(url, server.Server(t).Address())
	address, _ := pgtest.StartPooler(t, tcp)
	pooled := openAt(t, pgtest.ByTCP(url, address), Options{Serving: true})
	defer closeNow(t, pooled)
	if got := sessionSettings(t, pooled); got["tcp_user_timeout"] != "0" || got["tcp_keepalives_idle"] == "30" {
		t.Errorf("behind a pooler: %v", got)
	}
	server.Server(t).Execute(t, url, set("tcp_keepalives_interval = 17"))
	ours := map[string]string{
		"idle_session_timeout":    "0",
		"tcp_keepalives_idle":     "30",
		"tcp_keepalives_interval": "17",
		"tcp_keepalives_count":    "3",
		"tcp_user_timeout":        "30000", // in milliseconds
	}
	inURL, command := maps.Clone(ours), maps.Clone(ours)
	inURL["tcp_keepalives_idle"] = "77"
	inURL["idle_session_timeout"] = "1h"
	command["tcp_user_timeout"] = "0"
	for _, tt := range []struct {
		name, url string
		options   Options
		want      map[string]string
	}{
		{"a server", tcp, Options{Serving: true}, ours},
		{"a command", tcp, Options{}, command},
		{"the operator's", tcp + "&tcp_keepalives_idle=77&idle_session_timeout=1h", Options{Serving: true}, inURL},
	} {
		s := openAt(t, tt.url, tt.options)
		if diff := cmp.Diff(tt.want, sessionSettings(t, s)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		closeNow(t, s)
	}
}

func TestConcurrentFirstOpen(t *testing.T) {
	url := server.Server(t).Database(t)
	datasets := make([]string, 5)
	var wg sync.WaitGroup
	for i := range datasets {
		wg.Go(func() {
			s, err := tryOpen(t, url, Options{Serving: true})
			if err != nil {
				t.Errorf("open: %v", err)
				return
			}
			datasets[i] = s.Dataset()
			closeNow(t, s)
		})
	}
	wg.Wait()
	for _, d := range datasets {
		if d == "" || d != datasets[0] {
			t.Fatalf("the nodes see different data: %q", datasets)
		}
	}
}

// TestMigrationByAnotherNode: opening waits for a migration by another node, until the caller's context
// is canceled.
func TestMigrationByAnotherNode(t *testing.T) {
	url := server.Server(t).Database(t)
	conn := pgtest.Connect(t, url)
	pgtest.Execute(t, conn, "BEGIN")
	pgtest.Execute(t, conn, fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", int64(migrationLock)))
	ctx, cancel := context.WithCancel(t.Context())
	go func() { awaitLock(t, url); cancel() }()
	_, err := Open(ctx, Options{URL: petcat.NewSecret(url), Clock: clock.NewSystem()})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("open = %v, want the context's end", err)
	}
	opened := make(chan error, 1)
	go func() {
		s, err := tryOpen(t, url, Options{})
		if err == nil {
			err = s.Close()
		}
		opened <- err
	}()
	pgtest.Execute(t, conn, "ROLLBACK")
	if err := <-opened; err != nil {
		t.Errorf("open after the migration: %v", err)
	}
}

func TestUnusualSchema(t *testing.T) {
	url := server.Server(t).Database(t)
	server.Server(t).Execute(t, url, `CREATE SCHEMA "a b"; CREATE TABLE categories (theirs int)`)
	s := openAt(t, url+"&search_path=%22a%20b%22", Options{})
	defer closeNow(t, s)
	create(t, s, "Dogs")
	if diff := cmp.Diff([]string{"Dogs"}, storetest.Names(t, s)); diff != "" {
		t.Error(diff)
	}
}

// TestAuditIsNotTruncated: TRUNCATE is only in PostgreSQL, so the conformance suite does not test it.
func TestAuditIsNotTruncated(t *testing.T) {
	t.Parallel()
	conn := pgtest.Connect(t, filled(t))
	for _, statement := range []string{`TRUNCATE audit`, `TRUNCATE accounts, audit CASCADE`} {
		_, err := conn.Exec(t.Context(), statement)
		if err == nil || !strings.Contains(err.Error(), "audit entries are never") {
			t.Errorf("%s: %v", statement, err)
		}
	}
}
