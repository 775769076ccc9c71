package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"petcat/internal/pgtest"
)

// schemaOf returns the number of a database's schema.
func schemaOf(t *testing.T, database string) (number int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	must(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	must(t, conn.QueryRow(t.Context(), "SELECT max(version_id) FROM petcat_schema").Scan(&number))
	return number
}

// dump returns a database as statements that any client can send.
func dump(t *testing.T, database string) []byte {
	t.Helper()
	bin, err := pgtest.Binaries()
	must(t, err)
	out, err := exec.CommandContext(t.Context(), filepath.Join(bin, "pg_dump"),
		"--inserts", "--rows-per-insert=100", "--no-owner", "--no-privileges", database).Output()
	must(t, err)
	var statements strings.Builder
	for line := range strings.Lines(string(out)) {
		// What is for psql, and what only some versions of the server know.
		if !strings.HasPrefix(line, `\`) && !strings.HasPrefix(line, "--") && !strings.HasPrefix(line, "SET ") {
			statements.WriteString(line)
		}
	}
	return []byte(statements.String())
}
