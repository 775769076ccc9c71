package postgres

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"petcat/internal/openerror"
)

// newerSQL finds what PostgreSQL 14, the oldest that is let in, does not know:
// 15 brought MERGE, UNIQUE NULLS NOT DISTINCT, security_invoker and the regexp_
// functions; 16 any_value, random_normal and literals such as 1_000; 17
// JSON_TABLE, transaction_timeout and uuid_extract; 18 uuidv7, virtual columns and
// RETURNING OLD and NEW.
var newerSQL = regexp.MustCompile(`(?i)\bMERGE\s+INTO\b|\bNULLS\s+(NOT\s+)?DISTINCT\b|\bsecurity_invoker\b|\bregexp_(like|count|instr|substr)\b|` +
	`\bany_value\b|\brandom_normal\b|\b\d+_\d{3}\b|\bJSON_(TABLE|EXISTS|VALUE|QUERY|SCALAR)\b|\btransaction_timeout\b|\buuid(v7|_extract)|` +
	`\bVIRTUAL\b|\bRETURNING\s+(OLD|NEW)\b`)

// sqlText finds texts of the sources that may be SQL.
var sqlText = regexp.MustCompile("(?s)`[^`]*`")

// TestSQLIsOfTheOldestServer: the tests run on whatever server is installed, which
// may know more than the oldest one that is let in.
func TestSQLIsOfTheOldestServer(t *testing.T) {
	looked := 0
	look := func(name, text string) {
		looked++
		if found := newerSQL.FindString(text); found != "" {
			t.Errorf("%s: PostgreSQL %d does not know %q", name, minVersion/1_00_00, found)
		}
	}
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range sources {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		look(name, strings.Join(sqlText.FindAllString(string(text), -1), "\n"))
	}
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := migrations.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		look(name, string(text))
	}
	if looked < len(files)+10 {
		t.Errorf("only %d files were looked at", looked)
	}
}

// TestNewerSQL shows that the search is not blind.
func TestNewerSQL(t *testing.T) {
	for text, newer := range map[string]bool{
		"MERGE INTO category USING x": true, "UNIQUE NULLS NOT DISTINCT (a)": true, "SELECT any_value(a)": true,
		"LIMIT 1_000": true, "RETURNING new.id": true,
		"INSERT INTO a VALUES ($1) RETURNING id": false, "ORDER BY a NULLS LAST": false, "SELECT DISTINCT a FROM t1": false,
	} {
		if got := newerSQL.MatchString(text); got != newer {
			t.Errorf("%q is newer: %t; want %t", text, got, newer)
		}
	}
}

// TestOldServerIsRefused asks a server that says that it is older than it is:
// what stands before pg_catalog in the search path is found first.
func TestOldServerIsRefused(t *testing.T) {
	pg := server.Server(t)
	url := pg.Database(t)
	pg.Execute(t, url, `CREATE SCHEMA older;
		CREATE FUNCTION older.current_setting(name text) RETURNS text LANGUAGE sql AS
			$$ SELECT CASE name WHEN 'server_version_num' THEN '130018' WHEN 'server_version' THEN '13.18'
				ELSE pg_catalog.current_setting(name) END $$`)
	_, err := tryOpen(t, url+"&search_path=older,pg_catalog", Options{})
	wantOpenError(t, err, openerror.Unsupported)
	if !strings.Contains(err.Error(), "PostgreSQL 13.18; use 14 or later") {
		t.Errorf("it says %q", err)
	}
}
