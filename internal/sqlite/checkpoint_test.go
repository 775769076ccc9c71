package sqlite

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/store"
)

// left returns the directory of a killed server: the last commits are in the log.
func left(t *testing.T) (dir string) {
	t.Helper()
	running := t.TempDir()
	s := openAt(t, running, Options{})
	defer closeNow(t, s)
	create(t, s, "Dogs")
	dir = t.TempDir()
	for _, name := range []string{database, database + "-wal"} {
		write(t, filepath.Join(dir, name), read(t, filepath.Join(running, name)))
	}
	return dir
}

// reader holds a snapshot of a database until it is closed, as petcat backup does.
func reader(t *testing.T, path string) *sql.DB {
	t.Helper()
	db := open(path, "ro", 1)
	t.Cleanup(func() { _ = db.Close() })
	for _, query := range []string{"BEGIN", "SELECT * FROM counter"} {
		if _, err := db.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

func logSize(t *testing.T, dir string) int64 {
	t.Helper()
	info, err := os.Stat(filepath.Join(dir, database+"-wal"))
	if os.IsNotExist(err) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func TestStartEmptiesLogOfCrash(t *testing.T) {
	s := openAt(t, left(t), Options{Serving: true})
	defer closeNow(t, s)
	if size := s.WALBytes(); size != 0 {
		t.Errorf("the log has %d bytes after the start", size)
	}
	wantNames(t, s, "Dogs")
}

// TestServerWaitsForReadersOfOldLog: after a failed sync, the log of a server may be only in memory, so
// a new server must write all of it again before it appends. Even without a query, another process that
// has the database open knows which pages were moved, and SQLite would skip them: the server needs
// exclusive access.
func TestServerWaitsForReadersOfOldLog(t *testing.T) {
	for name, end := range map[string]string{"reading": "SELECT 1", "idle": "COMMIT"} {
		t.Run(name, func(t *testing.T) {
			dir := left(t)
			path := filepath.Join(dir, database)
			other := reader(t, path)
			if _, err := other.ExecContext(t.Context(), end); err != nil {
				t.Fatal(err)
			}
			before := logSize(t, dir)
			wantOpenError(t, explain(settle(t.Context(), path, time.Millisecond), path), "is locked by another program")
			if after := logSize(t, dir); after != before {
				t.Fatalf("the log has %d bytes and had %d", after, before)
			}
			if err := other.Close(); err != nil {
				t.Fatal(err)
			}
			s := openAt(t, dir, Options{Serving: true})
			defer closeNow(t, s)
			wantNames(t, s, "Dogs")
		})
	}
}

// page is the size of a page in bytes.
const page = 4096

// createPages creates categories that need at least a number of pages, in one group.
func createPages(t *testing.T, s *stored, pages int) {
	t.Helper()
	name, description := "Dogs", strings.Repeat("d", petcat.MaxCategoryDescription)
	n, err := petcat.ParseNewCategory(&name, &description)
	if err != nil {
		t.Fatal(err)
	}
	group := make([]*store.Create, pages)
	for i := range group {
		group[i] = &store.Create{Account: 1, New: n}
	}
	if err := s.create(group); err != nil {
		t.Fatal(err)
	}
}

// TestLongLogIsMoved: the log is moved into the database when it has a thousand pages, not earlier.
func TestLongLogIsMoved(t *testing.T) {
	s := openAt(t, t.TempDir(), Options{Serving: true})
	defer closeNow(t, s)
	before := fileSize(s.path)
	for fileSize(s.path) == before {
		createPages(t, s, 1)
		if size := s.WALBytes(); size > 1100*page {
			t.Fatalf("the log has %d bytes and was not moved", size)
		}
	}
	if size := s.WALBytes(); size < 1000*page {
		t.Errorf("the log was moved at %d bytes, want %d", size, 1000*page)
	}
}

// TestLogStaysSmall: a long log is moved into the database and started again; if a reader keeps it, when
// the reader finishes.
func TestLogStaysSmall(t *testing.T) {
	s := openAt(t, t.TempDir(), Options{Serving: true})
	defer closeNow(t, s)
	// fill writes at least that many pages, in groups of a hundredth of the maximum log.
	fill := func(pages int) {
		t.Helper()
		for range pages * 100 / logPages {
			createPages(t, s, logPages/100)
		}
	}
	fill(3 * logPages)
	if size := s.WALBytes(); size == 0 || size > logBytes {
		t.Errorf("the log has %d bytes, want at most %d", size, logBytes)
	}
	other := reader(t, s.path)
	fill(5 * logPages)
	grown := s.WALBytes()
	if grown < 4*logPages*page {
		t.Fatalf("the log has %d bytes while a reader keeps it", grown)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	fill(3 * logPages)
	if size := s.WALBytes(); size > logBytes {
		t.Errorf("the log has %d bytes after the reader has ended, and had %d", size, grown)
	}
}
