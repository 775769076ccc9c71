package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	lib "modernc.org/sqlite/lib"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/store"
	"github.com/petcat-api/petcat/internal/storetest"
)

const database = "petcat.db"

// wantOpenError checks that err is a [petcat.UnusableError] in one line that contains a text and a
// remedy.
func wantOpenError(t *testing.T, err error, want string) {
	t.Helper()
	e, ok := errors.AsType[*petcat.UnusableError](err)
	oneLine := ok && !strings.Contains(e.Message, "\n")
	if !oneLine || !strings.Contains(e.Message, want) || !strings.Contains(e.Message, "; ") {
		t.Fatalf("open = %v, want %q and a remedy", err, want)
	}
}

func create(t *testing.T, s *stored, name string) petcat.Category {
	t.Helper()
	c, err := tryCreate(t.Context(), t, s, name, "")
	if err != nil {
		t.Fatalf("create %q: %v", name, err)
	}
	return c.Category
}

func tryCreate(
	ctx context.Context, t *testing.T, s *stored, name string, key petcat.IdempotencyKey,
) (petcat.CreatedCategory, error) {
	t.Helper()
	n, err := petcat.ParseNewCategory(&name, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s.CreateCategory(ctx, petcat.CreateCategory{Account: 1, New: n, IdempotencyKey: key})
}

func wantNames(t *testing.T, s *stored, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, storetest.Names(t, s)); diff != "" {
		t.Fatalf("categories (-want +got):\n%s", diff)
	}
}

func closeNow(t *testing.T, s *stored) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
}

// filled returns a directory with a closed database.
func filled(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	s := openAt(t, dir, Options{Serving: true})
	name := strings.Repeat("Dogs", 50)
	n, err := petcat.ParseNewCategory(&name, nil)
	if err != nil {
		t.Fatal(err)
	}
	group := make([]*store.Create, 200)
	for i := range group {
		group[i] = &store.Create{Account: 1, New: n}
	}
	if err := s.create(group); err != nil { // as one group, to be quick
		t.Fatal(err)
	}
	closeNow(t, s)
	return dir
}

// execute changes a database directly.
func execute(t *testing.T, path, query string) {
	t.Helper()
	db := open(path, "rwc", 1)
	if _, err := db.ExecContext(t.Context(), query); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestRejectedFiles(t *testing.T) {
	const foreign = "is the database of another program"
	nothing := func(*testing.T, string) {}
	for _, tt := range []struct {
		name    string
		arrange func(t *testing.T, path string)
		options Options
		want    string
	}{
		{"another environment", nothing, Options{Environment: petcat.Staging}, "belongs to the production environment"},
		{"a text file", func(t *testing.T, path string) {
			write(t, path, bytes.Repeat([]byte("All work and no play. "), 1000))
		}, Options{}, "is not a database or is damaged"},
		{"damaged header", func(t *testing.T, path string) {
			overwrite(t, path, 0, 100)
		}, Options{}, "is not a database or is damaged"},
		{"damaged schema", func(t *testing.T, path string) {
			overwrite(t, path, 100, 3000)
		}, Options{}, "is not a database or is damaged"},
		{"another program's database", func(t *testing.T, path string) {
			remove(t, path)
			execute(t, path, "CREATE TABLE theirs (x)")
		}, Options{}, foreign},
		{"another program's application_id", func(t *testing.T, path string) {
			remove(t, path)
			execute(t, path, "PRAGMA application_id = 7")
		}, Options{}, foreign},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filled(t)
			path := filepath.Join(dir, database)
			tt.arrange(t, path)
			before := read(t, path)
			_, err := tryOpen(t, dir, tt.options)
			wantOpenError(t, err, tt.want)
			if tt.want == foreign && !bytes.Equal(before, read(t, path)) {
				t.Error("the other program's file was changed")
			}
		})
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func overwrite(t *testing.T, path string, from, n int) {
	t.Helper()
	b := read(t, path)
	copy(b[from:from+n], bytes.Repeat([]byte{0xa5}, n))
	write(t, path, b)
}

func TestReadFindsDamagedRows(t *testing.T) {
	dir := filled(t)
	path := filepath.Join(dir, database)
	// The rows of 200 categories are in the last pages; the schema is before them.
	size := len(read(t, path))
	overwrite(t, path, size-8*4096, 8*4096)
	s, err := tryOpen(t, dir, Options{})
	if err == nil {
		defer closeNow(t, s)
		err = s.EachCategory(t.Context(), func(petcat.RevisedCategory) error { return nil })
	}
	wantOpenError(t, err, "is not a database or is damaged")
}

// TestLibrary: older versions can corrupt a database if the log is started again while another
// connection commits.
func TestLibrary(t *testing.T) {
	if lib.SQLITE_VERSION_NUMBER < 3_051_003 {
		t.Errorf("SQLite is %s, want 3.51.3 or later", lib.SQLITE_VERSION)
	}
}

func TestSettingsOfEachConnection(t *testing.T) {
	s := openAt(t, t.TempDir(), Options{})
	defer closeNow(t, s)
	want := map[string]string{
		"journal_mode":       "wal",
		"synchronous":        "2",
		"foreign_keys":       "1",
		"busy_timeout":       "0",
		"wal_autocheckpoint": "0",
	}
	in := func(conn *sql.Conn) map[string]string {
		got := make(map[string]string)
		for name := range want {
			var value string
			if err := conn.QueryRowContext(t.Context(), "PRAGMA "+name).Scan(&value); err != nil {
				t.Fatal(err)
			}
			got[name] = value
		}
		return got
	}
	writer, err := s.writes.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = writer.Close() }()
	if diff := cmp.Diff(want, in(writer)); diff != "" {
		t.Errorf("the writer (-want +got):\n%s", diff)
	}
	want["busy_timeout"] = "5000"
	for range maxReaders {
		conn, err := s.readers.Conn(t.Context()) // held, so that each is another one
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if diff := cmp.Diff(want, in(conn)); diff != "" {
			t.Errorf("a reader (-want +got):\n%s", diff)
		}
		if _, err := conn.ExecContext(t.Context(), "DELETE FROM meta"); err == nil {
			t.Error("a reader could write")
		}
	}
}

func TestConcurrentFirstOpen(t *testing.T) {
	dir := t.TempDir()
	datasets := make([]string, 8)
	var wg sync.WaitGroup
	for i := range datasets {
		wg.Go(func() {
			s, err := tryOpen(t, dir, Options{})
			if err != nil {
				t.Errorf("open: %v", err)
				return
			}
			datasets[i] = s.Dataset()
			if err := s.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
	wg.Wait()
	for _, d := range datasets {
		if d == "" || d != datasets[0] {
			t.Fatalf("the processes see different data: %q", datasets)
		}
	}
}

// TestMigrations: a file gets missing migrations, and one with more migrations, of a newer version,
// works.
func TestMigrations(t *testing.T) {
	dir := filled(t)
	path := filepath.Join(dir, database)
	all := append(migrations(), "CREATE TABLE next (id INTEGER);")
	db := open(path, "rw", 1)
	for range 2 {
		if err := migrate(t.Context(), db, path, all); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	execute(t, path, "INSERT INTO next VALUES (1)")
	s := openAt(t, dir, Options{Serving: true})
	defer closeNow(t, s)
	create(t, s, "Dogs")
}

func TestUnusualPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b?c=d#e%20f&g'犬")
	s := openAt(t, dir, Options{})
	defer closeNow(t, s)
	create(t, s, "Dogs")
	if _, err := os.Stat(filepath.Join(dir, database+"-wal")); err != nil {
		t.Errorf("the data is somewhere else: %v", err)
	}
}

// TestLongPath: SQLite does not open a file with a long path, and its error does not name the cause.
func TestLongPath(t *testing.T) {
	part := strings.Repeat("x", 100)
	_, err := tryOpen(t, filepath.Join(t.TempDir(), part, part, part, part, part), Options{})
	wantOpenError(t, err, "choose a shorter one")
}

// TestIntegrity: the check finds an index that misses a row, which queries do not report.
func TestIntegrity(t *testing.T) {
	path := filepath.Join(filled(t), database)
	check := func() []string {
		t.Helper()
		f, err := EditFile(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		findings, err := f.Integrity()
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		return findings
	}
	if findings := check(); len(findings) > 0 {
		t.Fatalf("a whole file has the findings %q", findings)
	}
	execute(t, path, `PRAGMA writable_schema = ON;
		CREATE TABLE hidden AS SELECT * FROM sqlite_schema WHERE name = 'account_name';
		DELETE FROM sqlite_schema WHERE name = 'account_name'`)
	execute(t, path, `INSERT INTO accounts (name, plan, per_minute, per_day, max_categories, max_bytes, created_at, revision)
		VALUES ('zoo', 'free', 60, 1000, 1, 1, 0, 0)`)
	execute(t, path, `PRAGMA writable_schema = ON;
		INSERT INTO sqlite_schema SELECT * FROM hidden;
		DROP TABLE hidden`)
	want := []string{
		"the file is damaged: wrong # of entries in index account_name",
		"the file is damaged: row 1 missing from index account_name",
	}
	if diff := cmp.Diff(want, check()); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}
