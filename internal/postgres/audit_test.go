package postgres

import (
	"strings"
	"testing"

	"petcat/internal/pgtest"
)

// What the suite says of changes and deletions holds for the one statement that only
// PostgreSQL has.
func TestAuditIsNotTruncated(t *testing.T) {
	t.Parallel()
	conn := pgtest.Connect(t, filled(t))
	for _, statement := range []string{`TRUNCATE audit`, `TRUNCATE account, audit CASCADE`} {
		if _, err := conn.Exec(t.Context(), statement); err == nil || !strings.Contains(err.Error(), "audit entries are never") {
			t.Errorf("%s: %v", statement, err)
		}
	}
}
