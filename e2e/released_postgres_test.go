//go:build unix

package e2e

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"petcat/internal/pgtest"
)

// postgresTool runs a program of PostgreSQL and returns what it printed.
func postgresTool(t *testing.T, program string, args ...string) string {
	t.Helper()
	bin, err := pgtest.Binaries()
	must(t, err)
	out, err := exec.CommandContext(t.Context(), filepath.Join(bin, program), args...).Output()
	if err != nil {
		t.Fatalf("%s: %v", program, err)
	}
	return string(out)
}

// schemaOf returns the number of a database's schema.
func schemaOf(t *testing.T, database string) int {
	t.Helper()
	number, err := strconv.Atoi(strings.TrimSpace(postgresTool(t, "psql", "-XAt", "-c", "SELECT max(version_id) FROM petcat_schema", database)))
	must(t, err)
	return number
}

// dump returns a database as statements that any client can send.
func dump(t *testing.T, database string) []byte {
	t.Helper()
	var statements strings.Builder
	for line := range strings.Lines(postgresTool(t, "pg_dump", "--inserts", "--no-owner", "--no-privileges", database)) {
		// What is for psql alone, and a setting that only new servers know.
		if !strings.HasPrefix(line, `\`) && !strings.HasPrefix(line, "SET transaction_timeout ") {
			statements.WriteString(line)
		}
	}
	return []byte(statements.String())
}
