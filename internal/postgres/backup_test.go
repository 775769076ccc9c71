package postgres

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"petcat"
	"petcat/internal/backup"
	"petcat/internal/pgtest"
	"petcat/internal/storetest"
)

// copyOf returns a backup of a store.
func copyOf(t *testing.T, s *Store) []byte {
	t.Helper()
	var file bytes.Buffer
	w := backup.NewWriter(&file, "test")
	if err := s.Backup(t.Context(), w); err != nil {
		t.Fatalf("back up: %v", err)
	}
	if _, _, err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func restoreFrom(t *testing.T, s *Store, from io.Reader) error {
	t.Helper()
	r, err := backup.NewReader(from)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	return s.Restore(t.Context(), "cli:ada", r)
}

// TestBackupWithoutPreparedStatements: behind a pooler, values travel as text.
func TestBackupWithoutPreparedStatements(t *testing.T) {
	pg := server.Server(t)
	from, to := openAt(t, inExecMode(pg.Database(t)), Options{}), openAt(t, inExecMode(pg.Database(t)), Options{})
	defer closeNow(t, from)
	defer closeNow(t, to)
	for n := range 3 {
		create(t, from, fmt.Sprintf("pet %d", n))
	}
	if err := restoreFrom(t, to, bytes.NewReader(copyOf(t, from))); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(storetest.Names(t, to), ", "); got != "pet 0, pet 1, pet 2" {
		t.Errorf("restored %s", got)
	}
}

func inExecMode(url string) string {
	separator := "?"
	if strings.Contains(url, "?") {
		separator = "&"
	}
	return url + separator + "default_query_exec_mode=exec"
}

// killer kills the server when a part of the file was read.
type killer struct {
	io.Reader
	left int
	pg   *pgtest.Server
}

func (k *killer) Read(p []byte) (int, error) {
	if k.left -= len(p); k.left < 0 && k.pg != nil {
		k.pg.Kill()
		k.pg = nil
	}
	return k.Reader.Read(p)
}

// TestServerKilledDuringRestore: nothing is there afterwards, and the same can be
// restored again.
func TestServerKilledDuringRestore(t *testing.T) {
	pg := pgtest.New(t, pgtest.Options{})
	from := openAt(t, pg.Database(t), Options{})
	defer closeNow(t, from)
	for range 300 {
		create(t, from, rand.Text()+strings.Repeat(rand.Text(), 20))
	}
	file := copyOf(t, from)
	url := pg.Database(t)
	to := openAt(t, url, Options{})
	err := restoreFrom(t, to, &killer{Reader: bytes.NewReader(file), left: len(file) / 2, pg: pg})
	wantUnavailable(t, err)
	closeNow(t, to)
	if err := pg.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	to = openAt(t, url, Options{})
	defer closeNow(t, to)
	if got := storetest.Names(t, to); len(got) != 0 {
		t.Errorf("a restore that failed left %d categories", len(got))
	}
	if err := restoreFrom(t, to, bytes.NewReader(file)); err != nil {
		t.Fatal(err)
	}
	if got := len(storetest.Names(t, to)); got != 300 {
		t.Errorf("restored %d categories", got)
	}
	if _, err := tryCreate(t.Context(), t, to, "next", petcat.IdempotencyKey("a")); err != nil {
		t.Error(err)
	}
}

// TestBackupHasTimeForEachTable: counting all tables may take longer than the
// database may be silent.
func TestBackupHasTimeForEachTable(t *testing.T) {
	t.Parallel()
	const hold = time.Second
	url := server.Database(t)
	s := openAt(t, url, Options{})
	defer closeNow(t, s)
	s.silence = 3 * hold / 2
	account, key := pgtest.Connect(t, url), pgtest.Connect(t, url)
	pgtest.Execute(t, account, "BEGIN; LOCK TABLE account IN ACCESS EXCLUSIVE MODE")
	pgtest.Execute(t, key, "BEGIN; LOCK TABLE api_key IN ACCESS EXCLUSIVE MODE")
	var released sync.WaitGroup
	released.Go(func() {
		time.Sleep(hold)
		pgtest.Execute(t, account, "COMMIT")
		time.Sleep(hold)
		pgtest.Execute(t, key, "COMMIT")
	})
	copyOf(t, s)
	released.Wait()
}
