package sqlite

import (
	"path/filepath"
	"strings"
	"testing"

	"petcat/internal/backup"
	"petcat/internal/store"
)

// readingFor is a sink that keeps a backup waiting at its begin.
type readingFor func()

func (r readingFor) Begin(backup.Header) error { r(); return nil }

func (readingFor) Row(backup.Kind, []any) error { return nil }

// TestLogBesideBackups: while a backup reads the database the log of writes can only grow,
// and while it reads a copy the log is used again.
func TestLogBesideBackups(t *testing.T) {
	s := openAt(t, t.TempDir(), Options{Serving: true})
	defer closeNow(t, s)
	var meanwhile int64
	writing := readingFor(func() {
		for range 3 * logPages {
			create(t, s, "Dogs")
		}
		meanwhile = s.writer.logged.Load()
	})
	if err := s.Backup(t.Context(), writing); err != nil {
		t.Fatal(err)
	}
	if meanwhile < 3*logPages {
		t.Errorf("the log has %d pages beside a reader", meanwhile)
	}
	for range logPages { // a log that was kept is tried again when it is so much longer
		create(t, s, "Dogs")
	}
	if after := s.writer.logged.Load(); after > logPages {
		t.Errorf("the log has %d pages afterwards", after)
	}
	if err := s.BackupPaced(t.Context(), filepath.Join(t.TempDir(), "file"), noRest, writing); err != nil {
		t.Fatal(err)
	}
	if meanwhile > 2*logPages {
		t.Errorf("the log has %d pages beside a reader of a copy", meanwhile)
	}
}

func noRest() error { return nil }

// TestCopyOfALongLog: copying rests now and then, but not while the log of writes is long.
func TestCopyOfALongLog(t *testing.T) {
	s := openAt(t, t.TempDir(), Options{}) // not Serving: nothing else writes
	defer closeNow(t, s)
	// Far more pages than are copied at once, in one transaction.
	err := s.Change(t.Context(), "fill", func(tx *store.Tx) error {
		_, err := tx.Exec(`WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number LIMIT 10000)
			INSERT INTO meta (name, value) SELECT 'note ' || n, ? FROM number`, strings.Repeat("x", 1000))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		log  int64
		most int
	}{{"short", 0, 1 << 30}, {"long", longLog + 1, 0}} {
		s.writer.logged.Store(tt.log)
		var rests, copying int
		rest := func() error { rests++; return nil }
		if err := s.BackupPaced(t.Context(), filepath.Join(t.TempDir(), "file"), rest, readingFor(func() { copying = rests })); err != nil {
			t.Fatal(err)
		}
		if tt.most > 0 && copying < 5 || copying > tt.most {
			t.Errorf("beside a %s log, copying rested %d times", tt.name, copying)
		}
	}
}
