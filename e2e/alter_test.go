package e2e

import (
	"database/sql"
	"path/filepath"
	"testing"
)

// newerFile makes data that of a newer version.
const newerFile = `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)`

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
