package sqlite

import (
	"database/sql"
	"path/filepath"
	"slices"
	"testing"

	"petcat/internal/backup"
	"petcat/internal/store"
)

// TestBackupHasAllColumns: a column that is added to a table goes into backups, too. What
// shared counters know of a day is left out: it is worth nothing in another set of data.
// Deleted categories are left out altogether.
func TestBackupHasAllColumns(t *testing.T) {
	leftOut := []string{"category.deleted_at"}
	db, err := sql.Open("sqlite", filepath.Join(filled(t), database))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, k := range backup.Kinds() {
		table, kept := store.Table(k)
		for _, c := range columnsOf(t, db, table) {
			if !slices.Contains(kept, c) && !slices.Contains(leftOut, table+"."+c) {
				t.Errorf("a backup lacks the column %s of the table %s; add it in internal/backup/kind.go", c, table)
			}
		}
	}
}

func columnsOf(t *testing.T, db *sql.DB, table string) (names []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT name FROM pragma_table_info(?)", table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil || len(names) == 0 {
		t.Fatalf("the columns of %s: %v, %v", table, names, err)
	}
	return names
}
