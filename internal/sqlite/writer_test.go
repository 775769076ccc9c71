package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/store"
	"github.com/petcat-api/petcat/internal/storetest"
)

func wantUnavailable(t *testing.T, err error) {
	t.Helper()
	if petcat.CodeOf(err) != petcat.CodeServiceUnavailable {
		t.Fatalf("got %v, want %s", err, petcat.CodeServiceUnavailable)
	}
}

func TestCloseEmptiesTheLog(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir, Options{})
	create(t, s, "Dogs")
	closeNow(t, s)
	if s.WALBytes() != 0 {
		t.Errorf("the log has %d bytes after closing", s.WALBytes())
	}
	again := openAt(t, dir, Options{})
	defer closeNow(t, again)
	wantNames(t, again, "Dogs")
}

func TestRecoveryFromFullDisk(t *testing.T) {
	s := openAt(t, t.TempDir(), Options{})
	defer closeNow(t, s)
	create(t, s, "before")
	limit := func(pages string) {
		_, err := s.writes.ExecContext(t.Context(), "PRAGMA max_page_count = "+pages) // the committer is idle
		if err != nil {
			t.Fatal(err)
		}
	}
	limit("1")
	var err error
	for n := 0; err == nil && n < 1000; n++ {
		_, err = tryCreate(t.Context(), t, s, strings.Repeat("x", petcat.MaxCategoryName), "")
	}
	wantUnavailable(t, err)
	select {
	case <-s.Failed():
		t.Fatalf("the store has stopped writing permanently: %v", s.Err())
	default:
	}
	if !s.rejected.Load() {
		t.Error("the check does not report the full disk")
	}
	limit("1000000")
	if err := s.Check(t.Context()); err != nil || s.rejected.Load() {
		t.Errorf("after the disk was full: %v", err)
	}
	count := len(storetest.Names(t, s))
	created, err := tryCreate(t.Context(), t, s, "after", "")
	if err != nil {
		t.Fatalf("after the disk was full: %v", err)
	}
	if int(created.Category.ID) != count+1 {
		t.Errorf("the next id is %d after %d categories", created.Category.ID, count)
	}
}

// TestLockedDatabaseFailsOnce: while another process holds the lock, only the first caller waits for it;
// the callers after it try once each. After the lock, the next ones wait again.
func TestLockedDatabaseFailsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s, other := openAt(t, dir, Options{}), openAt(t, dir, Options{})
		defer closeNow(t, s)
		defer closeNow(t, other)
		lock, err := other.Begin(t.Context(), store.Work{Doing: "hold the lock"})
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		for range 3 {
			wantUnavailable(t, s.SetSharedText(t.Context(), "note", "x"))
		}
		if waited := time.Since(begun); waited >= 2*timeout {
			t.Errorf("three callers waited %s", waited)
		}
		_ = lock.Rollback()
		if err := s.SetSharedText(t.Context(), "note", "x"); err != nil || s.writer.locked {
			t.Errorf("after the lock: %v", err)
		}
	})
}

// TestFullDiskUntilWritten: an empty write, and another process's lock, do not show that a full disk has
// space again.
func TestFullDiskUntilWritten(t *testing.T) {
	dir := t.TempDir()
	s, other := openAt(t, dir, Options{}), openAt(t, dir, Options{})
	defer closeNow(t, s)
	defer closeNow(t, other)
	s.rejected.Store(true)
	if err := s.Change(t.Context(), "nothing", func(*store.Tx) error { return nil }); err != nil {
		t.Fatal(err)
	}
	lock, err := other.Begin(t.Context(), store.Work{Doing: "hold the lock"})
	if err != nil {
		t.Fatal(err)
	}
	s.writer.tries = 1
	wantUnavailable(t, s.SetSharedText(t.Context(), "note", "x"))
	_ = lock.Rollback()
	if !s.rejected.Load() {
		t.Error("the disk is not full any more, and nothing was written")
	}
	if err := s.Check(t.Context()); err != nil || s.rejected.Load() {
		t.Errorf("after a check that writes: %v", err)
	}
}

// TestBusyServerLetsOthersWrite: another process, which tries once a millisecond, gets the lock from a
// server that always has a transaction of a millisecond open.
func TestBusyServerLetsOthersWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s, other := openAt(t, dir, Options{Serving: true}), openAt(t, dir, Options{})
		defer closeNow(t, s)
		defer closeNow(t, other)
		var busy sync.WaitGroup
		defer busy.Wait()
		var done atomic.Bool
		defer done.Store(true)
		busy.Go(func() {
			for !done.Load() {
				keepBusy := func(*store.Tx) error { time.Sleep(time.Millisecond); return nil }
				if err := s.Change(t.Context(), "keep busy", keepBusy); err != nil {
					t.Error(err)
					return
				}
			}
		})
		time.Sleep(time.Millisecond / 2) // in the middle of a transaction, as all attempts from now on
		other.writer.tries = 1 + int((pause+pauseEvery)/time.Millisecond)
		for range 3 {
			create(t, other, "Dogs")
		}
	})
}

func TestRemovedOrReplacedFileStopsTheWriter(t *testing.T) {
	for _, tt := range []struct {
		name  string
		after func(t *testing.T, path string)
	}{
		{"removed", func(*testing.T, string) {}},
		{"replaced", func(t *testing.T, path string) { write(t, path, nil) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			s := openAt(t, dir, Options{})
			defer func() { _ = s.Close() }()
			create(t, s, "before")
			path := filepath.Join(dir, database)
			if err := os.Rename(path, path+".old"); err != nil {
				t.Fatal(err)
			}
			tt.after(t, path)
			_, err := tryCreate(t.Context(), t, s, "into nowhere", "")
			wantUnavailable(t, err)
			<-s.Failed()
			if s.Err() == nil {
				t.Error("Failed is not closed")
			}
		})
	}
}

// TestRemovedLogStopsTheWriter: commits before the removal are in the database after closing.
func TestRemovedLogStopsTheWriter(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir, Options{Serving: true})
	create(t, s, "before")
	if err := os.Remove(filepath.Join(dir, database+"-wal")); err != nil {
		t.Fatal(err)
	}
	_, err := tryCreate(t.Context(), t, s, "into nowhere", "")
	wantUnavailable(t, err)
	<-s.Failed()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	again := openAt(t, dir, Options{Serving: true})
	defer closeNow(t, again)
	wantNames(t, again, "before")
}

// TestErrorThatEndsTransaction: after some errors, such as a full disk, SQLite has rolled back the
// transaction, and the next statement would be committed separately.
func TestErrorThatEndsTransaction(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir, Options{})
	defer closeNow(t, s)
	beat := func(id, state string) error {
		_, err := s.Heartbeat(t.Context(), petcat.Node{ID: id, Label: id, State: state})
		return err
	}
	if err := errors.Join(beat("gone", "ready"), beat("a", "ready")); err != nil {
		t.Fatal(err)
	}
	execute(t, filepath.Join(dir, database), `UPDATE nodes SET seen_at = 0 WHERE id = 'gone';
		CREATE TRIGGER full BEFORE DELETE ON nodes BEGIN SELECT RAISE(ROLLBACK, 'full'); END`)
	if err := beat("a", "stopping"); err == nil {
		t.Fatal("the heartbeat succeeded")
	}
	if nodes, err := s.Nodes(t.Context()); err != nil || len(nodes) != 1 || nodes[0].State != "ready" {
		t.Errorf("the nodes are %+v, %v", nodes, err)
	}
	create(t, s, "Dogs")
}
