package sqlite

import (
	"database/sql"
	"path/filepath"
	"testing"

	"petcat/internal/clock"
	"petcat/internal/storetest"
)

// TestUsageIsSmall: what a day of usage of many accounts adds to the file, by a part of them.
func TestUsageIsSmall(t *testing.T) {
	const accounts = 2_000
	path, c := t.TempDir(), clock.NewManual(storetest.UsageStart())
	s := openAt(t, path, Options{Clock: c})
	defer closeNow(t, s)
	before := usedBytes(t, path)
	storetest.FillUsageDay(t, s, c, accounts, func() {})
	took := (usedBytes(t, path) - before) * 100_000 / accounts
	t.Logf("a day of 100,000 accounts takes %d bytes", took)
	if took > storetest.MaxUsageDay {
		t.Errorf("a day of 100,000 accounts takes %d bytes, want %d at most", took, storetest.MaxUsageDay)
	}
}

// usedBytes is what the file holds, without free pages.
func usedBytes(t *testing.T, path string) (n int64) {
	t.Helper()
	const query = `SELECT (p.page_count - f.freelist_count) * s.page_size FROM pragma_page_count AS p, pragma_freelist_count AS f, pragma_page_size AS s`
	db, err := sql.Open("sqlite", filepath.Join(path, database))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
