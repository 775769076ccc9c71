package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"petcat"
	"petcat/internal/pgtest"
)

func wantOpenError(t *testing.T, err error, want Kind) {
	t.Helper()
	e, ok := errors.AsType[*OpenError](err)
	if !ok || e.Kind != want {
		t.Fatalf("open = %v, want an OpenError of kind %s", err, want)
	}
	if strings.Count(e.Message, "\n") > 0 || !strings.ContainsAny(e.Message, ";") {
		t.Errorf("the message is not one sentence with a remedy: %q", e.Message)
	}
}

// filled returns a database with something in it.
func filled(t *testing.T) string {
	t.Helper()
	url := server.Server(t).Database(t)
	s := openAt(t, url, Options{Serving: true})
	create(t, s, "Dogs")
	closeNow(t, s)
	return url
}

// connect returns a connection of the test's own.
func connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

func execute(t testing.TB, conn *pgx.Conn, statement string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		name       string
		statements string // run in a filled database
		options    Options
		want       Kind
	}{
		{"another environment", "", Options{Environment: petcat.Staging}, OtherEnvironment},
		{"an older schema", "DROP TABLE day_call; DELETE FROM petcat_schema WHERE version_id = 3", Options{Serving: true}, OlderSchema},
		{"a newer schema", "INSERT INTO petcat_schema (version_id, is_applied) VALUES (999, true)", Options{}, NewerSchema},
		{"tables of another program", "DROP TABLE petcat_schema; DROP TABLE meta, counter", Options{}, Foreign},
		{"read-only", "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$", Options{}, Unwritable},
		{"another isolation", "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation = serializable', current_database()); END $$", Options{}, Unsafe},
	} {
		t.Run(tt.name, func(t *testing.T) {
			url := filled(t)
			if tt.statements != "" {
				server.Server(t).Execute(t, url, tt.statements)
			}
			_, err := tryOpen(t, url, tt.options)
			wantOpenError(t, err, tt.want)
		})
	}
}

func TestRefusedAddresses(t *testing.T) {
	url := server.Server(t).Database(t)
	for _, tt := range []struct {
		name, url string
		want      Kind
	}{
		{"no database of that name", strings.Replace(url, "/test", "/nobodys", 1), Refused},
		{"no user of that name", strings.Replace(url, "user=petcat", "user=nobody", 1), Refused},
		{"nobody listens", "postgres://petcat:hunter2@127.0.0.1:1/petcat", Unreachable},
		{"another scheme", "mysql://petcat:hunter2@localhost/petcat", BadAddress},
		{"no scheme", "petcat:hunter2@localhost/petcat", BadAddress},
		{"a broken port", "postgres://petcat:hunter2@localhost:x/petcat", BadAddress},
		{"an unknown sslmode", "postgres://petcat:hunter2@localhost/petcat?sslmode=perhaps", BadAddress},
		{"empty", "", BadAddress},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tryOpen(t, tt.url, Options{})
			wantOpenError(t, err, tt.want)
			if strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), "hunter2") {
				t.Error("the error tells the password")
			}
		})
	}
}

func TestRefusedServers(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options pgtest.Options
		want    Kind
	}{
		{"fsync off", pgtest.Options{NoSync: true}, Unsafe},
		{"full_page_writes off", pgtest.Options{Settings: map[string]string{"full_page_writes": "off"}}, Unsafe},
		{"another encoding", pgtest.Options{InitArgs: []string{"--encoding=LATIN1"}}, Unsupported},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tryOpen(t, pgtest.New(t, tt.options).Database(t), Options{})
			wantOpenError(t, err, tt.want)
		})
	}
}

// What a transaction that writes needs it sets itself, whatever the server, the
// database or the role have set.
func TestSettingsOfWrites(t *testing.T) {
	url := server.Server(t).Database(t)
	for weaker, want := range map[string]string{"off": "on", "local": "on", "remote_write": "on", "on": "on", "remote_apply": "remote_apply"} {
		server.Server(t).Execute(t, url, "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = "+weaker+"', current_database()); END $$")
		s := openAt(t, url, Options{})
		var got, timeout string
		err := s.change(t.Context(), "look", func(tx *tx) error {
			return tx.get("SELECT current_setting('synchronous_commit'), current_setting('lock_timeout')", nil, &got, &timeout)
		})
		if err != nil || got != want || timeout != "2s" {
			t.Errorf("with %s: synchronous_commit = %s and lock_timeout = %s, %v; want %s", weaker, got, timeout, err, want)
		}
		// The writer's: a trigger sees the settings of the transaction it runs in.
		server.Server(t).Execute(t, url, `CREATE TABLE IF NOT EXISTS seen (setting text, timeout text);
			CREATE OR REPLACE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
				INSERT INTO seen VALUES (current_setting('synchronous_commit'), current_setting('lock_timeout')); RETURN NULL; END $$;
			CREATE OR REPLACE TRIGGER look AFTER INSERT ON category EXECUTE FUNCTION look()`)
		for _, key := range []string{"", "key-" + weaker} {
			server.Server(t).Execute(t, url, "TRUNCATE seen")
			if _, err := tryCreate(t.Context(), t, s, "Dogs", petcat.IdempotencyKey(key)); err != nil {
				t.Fatal(err)
			}
			if err := connect(t, url).QueryRow(t.Context(), "SELECT setting, timeout FROM seen").Scan(&got, &timeout); err != nil || got != want || timeout != "2s" {
				t.Errorf("with %s, key %q: the writer commits with %s and waits for a lock for %s, %v; want %s and 2s", weaker, key, got, timeout, err, want)
			}
		}
		closeNow(t, s)
	}
}

func TestManyOpenFreshDataAtOnce(t *testing.T) {
	for range 3 {
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
}

// A migration that is under way elsewhere is waited for, and not longer than the
// caller likes.
func TestMigrationElsewhere(t *testing.T) {
	url := server.Server(t).Database(t)
	conn := connect(t, url)
	execute(t, conn, "BEGIN")
	execute(t, conn, fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", int64(migrationLock)))
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := Open(ctx, Options{URL: petcat.NewSecret(url), Clock: nil})
	if !errors.Is(err, context.DeadlineExceeded) {
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
	execute(t, conn, "ROLLBACK")
	if err := <-opened; err != nil {
		t.Errorf("open after the other has finished: %v", err)
	}
}

func TestUnusualSchema(t *testing.T) {
	url := server.Server(t).Database(t)
	server.Server(t).Execute(t, url, `CREATE SCHEMA "a b"; CREATE TABLE category (theirs int)`)
	s := openAt(t, url+"&search_path=%22a%20b%22", Options{})
	defer closeNow(t, s)
	create(t, s, "Dogs")
	if diff := cmp.Diff([]string{"Dogs"}, names(t, s)); diff != "" {
		t.Error(diff)
	}
}

func TestStartIsQuick(t *testing.T) {
	url := filled(t)
	// A loose bound, ten times the promise: it is for finding a start that waits
	// for something, not for measuring.
	start := time.Now()
	s := openAt(t, url, Options{Serving: true})
	defer closeNow(t, s)
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("a start took %s", took)
	}
}

func TestNewerVersionIsOnlyWarnedOf(t *testing.T) {
	var log strings.Builder
	s := openAt(t, server.Server(t).Database(t), Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	defer closeNow(t, s)
	conn := connect(t, filled(t))
	var number int
	if err := conn.QueryRow(t.Context(), "SELECT current_setting('server_version_num')::int4").Scan(&number); err != nil {
		t.Fatal(err)
	}
	if warned := strings.Contains(log.String(), "newer than"); warned != (number > knownVersion) {
		t.Errorf("version %d: warned %v", number, warned)
	}
}
