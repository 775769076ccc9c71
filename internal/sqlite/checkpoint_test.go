package sqlite

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"petcat"
	"petcat/internal/openerror"
	"petcat/internal/store"
)

// left returns a directory as a server leaves it that is killed: the last commits
// are in the log.
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

// reader holds a snapshot of a database, as petcat backup does, until it is closed.
func reader(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := open(dsn(path, "ro", nil), 1)
	if err != nil {
		t.Fatal(err)
	}
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

func TestStartEmptiesTheLogOfACrash(t *testing.T) {
	for _, o := range []Options{{Serving: true}, {}} {
		dir := left(t)
		s := openAt(t, dir, o)
		defer closeNow(t, s)
		if size := s.WALBytes(); size != 0 {
			t.Errorf("the log has %d bytes after the start", size)
		}
		wantNames(t, s, "Dogs")
	}
}

// Commits of a server whose sync failed may be in its log and in no more than
// memory: while somebody keeps the log from being written anew, nothing may be
// appended.
func TestServerWaitsForReadersOfALogThatWasLeft(t *testing.T) {
	dir := left(t)
	path := filepath.Join(dir, database)
	other := reader(t, path)
	before := logSize(t, dir)
	wantOpenError(t, settleWithin(t.Context(), path, 3*settlePoll), openerror.Locked)
	if after := logSize(t, dir); after != before {
		t.Fatalf("the log has %d bytes, and had %d", after, before)
	}
	time.AfterFunc(5*settlePoll, func() { _ = other.Close() })
	s := openAt(t, dir, Options{Serving: true})
	defer closeNow(t, s)
	wantNames(t, s, "Dogs")
}

func TestCommandsDoNotWaitForReaders(t *testing.T) {
	dir := left(t)
	reader(t, filepath.Join(dir, database))
	s := openAt(t, dir, Options{})
	defer closeNow(t, s)
	create(t, s, "Cats")
	wantNames(t, s, "Dogs", "Cats")
}

// A process that has the database open, and no query under way, knows which
// pages were moved, and takes them for safe: only who is alone moves them all.
func TestIdleReaderKeepsAServerFromStarting(t *testing.T) {
	dir := left(t)
	path := filepath.Join(dir, database)
	other := reader(t, path)
	if _, err := other.ExecContext(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	wantOpenError(t, settleWithin(t.Context(), path, 3*settlePoll), openerror.Locked)
}

func TestWriteAheadLogStaysSmallBesideReaders(t *testing.T) {
	s := openAt(t, t.TempDir(), Options{Serving: true})
	defer closeNow(t, s)
	description := strings.Repeat("d", petcat.MaxCategoryDescription)
	fill := func(pages int) {
		t.Helper()
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range pages / 8 / 3 {
					name := "Dogs"
					n, err := petcat.ParseNewCategory(&name, &description)
					if err != nil {
						t.Error(err)
						return
					}
					if _, err := s.CreateCategory(t.Context(), petcat.CreateCategory{Account: 1, New: n}); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
	}
	const page = 4096
	create(t, s, "Dogs")
	other := reader(t, s.path)
	fill(5 * logPages)
	grown := s.WALBytes()
	if grown < 4*logPages*page {
		t.Fatalf("the log has %d bytes though a reader keeps it", grown)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	fill(3 * logPages)
	if size := s.WALBytes(); size > logBytes {
		t.Errorf("the log has %d bytes after the reader had gone, of %d before", size, grown)
	}
}

// Others of this database's processes append to the log, too.
func TestServerMovesWhatOthersWrote(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir, Options{Serving: true})
	defer closeNow(t, s)
	other := openAt(t, dir, Options{})
	n := 0
	for ; s.WALBytes() < 2*logPages*4096; n++ {
		if n > 10_000 {
			t.Fatal("the log does not grow")
		}
		err := other.Change(t.Context(), "fill", func(t *store.Tx) error {
			_, err := t.Exec(`INSERT INTO meta VALUES (hex(randomblob(8)), hex(randomblob(500000)))`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	closeNow(t, other)
	before := s.WALBytes()
	create(t, s, "Dogs") // moves it
	for range 20 {
		create(t, s, "Cats")
	}
	if after := s.WALBytes(); after > before+64<<10 {
		t.Errorf("the log grew from %d to %d bytes", before, after)
	}
}
