package e2e

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
)

// What makes data that of an older version: it takes the last migration back.
const (
	olderFile = `DROP TABLE operator_session; DROP TABLE operator; DROP INDEX account_search; DROP INDEX audit_subject; DROP INDEX audit_actor;
		DELETE FROM goose_db_version WHERE version_id = 9`
	olderDatabase = `DROP TABLE operator_session, operator; DROP INDEX account_search, audit_subject, audit_actor;
		DELETE FROM petcat_schema WHERE version_id = 12`
)

// newerFile makes data that of a newer version.
const newerFile = `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)`

// makeOlder makes the data in a directory that of an older version.
func makeOlder(t *testing.T, data string) {
	t.Helper()
	alterFile(t, data, olderFile)
}

// alterFile changes the database in a directory, which nobody has open, behind petcat's
// back.
func alterFile(t *testing.T, data, statements string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(data, "petcat.db"))
	must(t, err)
	_, err = db.ExecContext(t.Context(), statements)
	must(t, err)
	must(t, db.Close())
}

// TestOnlyServersMigrate: data of an older version is brought up to date by serve
// and by migrate. Any other command leaves it as it is: after a change, a server of
// the older version could not be started again.
func TestOnlyServersMigrate(t *testing.T) {
	t.Parallel()
	pg := sharedPostgres.Server(t)
	database, file := pg.Database(t), filepath.Join(t.TempDir(), "data")
	for name, c := range map[string]struct {
		data  string
		older func()
	}{
		"sqlite":   {file, func() { makeOlder(t, file) }},
		"postgres": {database, func() { pg.Execute(t, database, olderDatabase) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newCaller(t, c.data)
			c.older()
			for _, command := range [][]string{
				{"account", "list"},
				{"account", "create", "acme", "--plan", "free"},
				{"verify"},
				{"audit", "verify"},
				{"init"},
				{"backup", filepath.Join(t.TempDir(), "copy")},
			} {
				code, _, stderr := petcatRuns(t, append(command, placeFlags(c.data)...)...)
				if code != exitConfig || !strings.Contains(stderr, "older schema") || !strings.Contains(stderr, "petcat migrate") {
					t.Errorf("%v ends with %d: %q", command, code, stderr)
				}
			}
			for range 2 {
				petcatDoes(t, c.data, "migrate")
				petcatDoes(t, c.data, "verify")
			}
			c.older()
			serve(t, c.data).mustStop()
			petcatDoes(t, c.data, "verify")
		})
	}
}
