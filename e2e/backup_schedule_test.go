package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// scheduled returns the finished backups in a folder, the oldest first.
func scheduled(t testing.TB, folder string) (paths []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "petcat-production-*.backup"))
	must(t, err)
	return paths
}

// TestScheduledBackups: they are made while the service runs and verified, few are kept,
// and one can be restored. A restart makes none too early.
func TestScheduledBackups(t *testing.T) {
	t.Parallel()
	data, folder := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "backups")
	s := serve(t, data, "--backup-every", "1s", "--backup-keep", "2", "--backup-dir", folder)
	key := newCaller(t, data)
	for _, name := range []string{"dog", "cat", "cow"} {
		s.mustCreate(key, name)
	}
	first := scheduled(t, folder)
	eventually(t, 30*time.Second, "three more were made", func() bool {
		now := scheduled(t, folder)
		return len(now) == 2 && !slices.ContainsFunc(now, func(path string) bool { return slices.Contains(first, path) })
	})
	if at := s.metric("petcat_backup_last_success_timestamp_seconds"); time.Since(time.Unix(int64(at), 0)) > 10*time.Second {
		t.Errorf("the last one is said to be of %v", at)
	}
	want := s.categories(key)
	s.mustStop()

	files := scheduled(t, folder)
	newest := files[len(files)-1]
	for path, mode := range map[string]os.FileMode{folder: 0o700, newest: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: mode %v, %v; want %o", path, info.Mode(), err, mode)
		}
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != len(files) {
		t.Errorf("there are %v, %v; want %d backups and nothing else", entries, err, len(files))
	}
	mustRun(t, "verify", newest)
	restored := filepath.Join(t.TempDir(), "data")
	mustRun(t, "restore", newest, "--data", restored)
	again := serve(t, restored)
	if got := again.categories(key); !slices.Equal(got, want) {
		t.Errorf("restored were %v, want %v", got, want)
	}

	// The store remembers the last one, wherever the next is to be made.
	other := filepath.Join(t.TempDir(), "other")
	s = serve(t, data, "--backup-every", "1h", "--backup-dir", other)
	eventually(t, 10*time.Second, "the last one is known", func() bool { return s.metric("petcat_backup_size_bytes") > 0 })
	s.mustStop()
	if made := scheduled(t, other); len(made) > 0 {
		t.Errorf("a restart made %v", made)
	}
}

// TestScheduledBackupsOnAFullDisk: the service starts and goes on, the last good backup
// stays, and when there is room again, another one is made.
func TestScheduledBackupsOnAFullDisk(t *testing.T) {
	t.Parallel()
	data, volume := filepath.Join(t.TempDir(), "data"), disk(t, 8<<20)
	folder := filepath.Join(volume, "backups")
	must(t, os.Mkdir(folder, 0o700))
	ballast := fill(t, volume)
	s := serve(t, data, "--backup-every", "1s", "--backup-keep", "1", "--backup-dir", folder)
	failures := func() float64 { return s.metric("petcat_backup_failures_total") }
	lastGood := func() float64 { return s.metric("petcat_backup_last_success_timestamp_seconds") }
	eventually(t, 30*time.Second, "the first one failed", func() bool { return failures() >= 1 })
	if at := lastGood(); at != 0 {
		t.Errorf("there is none, and the last one is said to be of %v", at)
	}
	must(t, os.Remove(ballast))
	key := newCaller(t, data)
	eventually(t, 10*time.Second, "one was made", func() bool { return len(scheduled(t, folder)) == 1 && lastGood() > 0 })
	before := failures()
	eventually(t, 30*time.Second, "two failed", func() bool {
		fill(t, volume) // a backup that was being made may have made room again, by removing an older one
		return failures() >= before+2
	})
	kept := scheduled(t, folder)
	if len(kept) != 1 {
		t.Fatalf("there are %v", kept)
	}
	mustRun(t, "verify", kept[0])
	wantStatus(t, s.create(key, "dog"), http.StatusCreated)
	if status, body := s.ask("/readyz"); status != http.StatusOK || strings.Contains(body, "degraded") {
		t.Errorf("/readyz answers %d %s", status, body)
	}
	if said := s.log.String(); !strings.Contains(said, "a scheduled backup failed; older ones are kept") || !strings.Contains(said, "no space left on device") {
		t.Errorf("the log says %s", last(said, 2000))
	}
	must(t, os.Remove(ballast))
	eventually(t, 30*time.Second, "another one was made", func() bool {
		now := scheduled(t, folder)
		return len(now) == 1 && now[0] != kept[0]
	})
	s.mustStop()
}

// TestScheduledBackupsInLittleRoom: where a copy of the database has no room, the database
// itself is read.
func TestScheduledBackupsInLittleRoom(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	mustRun(t, "restore", manyRows(t, 10_000), "--data", data)
	info, err := os.Stat(filepath.Join(data, "petcat.db"))
	must(t, err)
	folder := disk(t, info.Size()) // a copy would leave nothing for the backup
	s := serve(t, data, "--backup-every", "1h", "--backup-dir", folder)
	eventually(t, 30*time.Second, "one was made", func() bool { return s.metric("petcat_backup_size_bytes") > 0 })
	files := scheduled(t, folder)
	if entries, err := os.ReadDir(folder); err != nil || len(files) != 1 || len(entries) != 1 {
		t.Fatalf("there are %v, %v; want one backup and nothing else", entries, err)
	}
	mustRun(t, "verify", files[0])
	s.mustStop()
}

// TestScheduledBackupsOfTwoNodes: one of them makes the backups; when it stops, the other
// one does.
func TestScheduledBackupsOfTwoNodes(t *testing.T) {
	t.Parallel()
	database := sharedPostgres.Server(t).Database(t)
	folder := filepath.Join(t.TempDir(), "backups")
	flags := []string{"--backup-every", "2s", "--backup-keep", "100", "--backup-dir", folder}
	began := time.Now()
	a := serve(t, database, flags...)
	b := serve(t, database, flags...)
	eventually(t, 30*time.Second, "there are five", func() bool { return len(scheduled(t, folder)) >= 5 })
	a.mustStop()
	// Were there two makers, there would be twice as many.
	made := func(s *server) int { return strings.Count(s.log.String(), "a scheduled backup was made and verified") }
	if n, most := made(a)+made(b), 2+int(time.Since(began)/(2*time.Second)); n > most {
		t.Errorf("%d backups were made within %s, want at most %d", n, time.Since(began), most)
	}
	left := len(scheduled(t, folder))
	eventually(t, 30*time.Second, "the other node makes more", func() bool { return len(scheduled(t, folder)) >= left+2 })
	b.mustStop()
	files := scheduled(t, folder)
	mustRun(t, "verify", files[len(files)-1])
}
