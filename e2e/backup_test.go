package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	rules "github.com/petcat-api/petcat"
)

// otherKind returns an empty place for the other database.
func otherKind(t *testing.T, place string) string {
	t.Helper()
	if strings.Contains(place, "://") {
		return directory(t)
	}
	return database(t)
}

// TestMove: a backup and restore moves a deployment from one database to the other and back. Clients do
// not notice a change.
func TestMove(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, place string) {
		free, k := newKey(t, place, "small", "free"), newKey(t, place, "acme", unlimited...)
		n := serve(t, place)
		for _, name := range []string{"dog", "cat", "fish"} {
			n.create(k.Key, name).want(t, http.StatusCreated)
		}
		n.do(http.MethodDelete, "/v1/categories/2", "", by(k.Key)).want(t, http.StatusNoContent)
		once := header("Idempotency-Key", "once")
		rabbit := n.create(k.Key, "rabbit", once).want(t, http.StatusCreated)
		for range 7 {
			n.list(free.Key).want(t, http.StatusOK)
		}
		_, day := n.windows(free.Key)
		n.fresh(k.Key) // so that the next list is not an older one
		list := n.list(k.Key)
		n.stop()

		file := filepath.Join(t.TempDir(), "all of it")
		for _, to := range []string{otherKind(t, place), otherKind(t, otherKind(t, place))} {
			petcat(t, place, "backup", file, "--force", "--quiet")
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("mode of the backup: %v: %v", info.Mode(), err)
			}
			petcat(t, place, "verify", file)
			petcat(t, to, "restore", file)
			if o := run(t, placed(to, "restore", file)...); o.code == exitDone {
				t.Error("a restore replaced existing data")
			}
			petcat(t, to, "verify")
			petcat(t, to, "audit", "verify")
			n = serve(t, to)
			moved := n.list(k.Key, header("If-None-Match", list.Header.Get("ETag"))).want(t, http.StatusOK)
			if diff := cmp.Diff(string(list.body), string(moved.body)); diff != "" {
				t.Errorf("list (-before +after):\n%s", diff)
			}
			a := n.create(k.Key, "rabbit", once).want(t, http.StatusCreated)
			if a.Header.Get("Idempotent-Replayed") != "true" || !bytes.Equal(a.body, rabbit.body) {
				t.Errorf("replay: %s", a.body)
			}
			if _, now := n.windows(free.Key); now.Reset == day.Reset && now.Used < day.Used {
				t.Errorf("%d requests of the day, then %d", day.Used, now.Used)
			}
			n.create(k.Key, "next").want(t, http.StatusCreated)
			n.fresh(k.Key)
			list = n.list(k.Key)
			n.stop()
			place = to
		}
		var all []category
		list.decode(t, &all)
		if last := all[len(all)-1]; last.ID != 6 {
			t.Errorf("last id: %d", last.ID)
		}
	})
}

// TestBackupUnderLoad: a backup contains every write that was acknowledged before its start.
func TestBackupUnderLoad(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, place string) {
		k := newKey(t, place, "acme", unlimited...)
		n := serve(t, place)
		known, done := newBook(), make(chan struct{})
		var writers sync.WaitGroup
		for w := range 4 {
			writers.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-done:
						return
					default:
						known.createOnce(t, n.client, n.api, k, fmt.Sprintf("writer-%d-%d", w, i))
					}
				}
			})
		}
		eventually(t, "there are some categories", func() bool { return known.size() > 50 })
		before := known.copied()
		file, restored := filepath.Join(t.TempDir(), "busy.backup"), directory(t)
		petcat(t, place, "backup", file)
		close(done)
		writers.Wait()
		if o := run(t, placed(place, "restore", file)...); o.code == exitDone {
			t.Error("a restore replaced the data of a running server")
		}
		n.stop()
		petcat(t, restored, "restore", file)
		n = serve(t, restored)
		before.check(t, func() []category { return n.categories(k.Key) })
		n.stop()
	})
}

// TestDamagedBackup: verify and restore detect one changed bit in a row.
func TestDamagedBackup(t *testing.T) {
	t.Parallel()
	place, file := directory(t), filepath.Join(t.TempDir(), "a.backup")
	k := newKey(t, place, "acme", unlimited...)
	n := serve(t, place)
	n.create(k.Key, "Ferrets").want(t, http.StatusCreated)
	n.stop()
	petcat(t, place, "backup", file)
	data, err := os.ReadFile(file)
	must(t, err)
	data[bytes.LastIndex(data, []byte("Ferrets"))] ^= 1
	must(t, os.WriteFile(file, data, 0o600))
	if o := run(t, "verify", file); o.code != exitFailed || !strings.Contains(o.stdout+o.stderr, "categor") {
		t.Errorf("verify: %+v", o)
	}
	to := directory(t)
	if o := run(t, placed(to, "restore", file)...); o.code == exitDone {
		t.Error("the damaged backup was restored")
	}
	petcat(t, to, "init")
	if n := serve(t, to); n.list(k.Key).code() != rules.CodeInvalidAPIKey {
		t.Error("the failed restore created data")
	}
}

// TestKilledBackup: a killed backup is complete or absent.
func TestKilledBackup(t *testing.T) {
	t.Parallel()
	place := directory(t)
	newKey(t, place, "acme", "free")
	for range 5 {
		dir := t.TempDir()
		file := filepath.Join(dir, "a.backup")
		cmd := command(placed(place, "backup", file)...)
		must(t, cmd.Start())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = cmd.Wait()
		}()
		for begun := false; !begun; {
			select {
			case <-ended:
				begun = true
			default:
				entries, err := os.ReadDir(dir)
				must(t, err)
				begun = len(entries) > 0
			}
		}
		_ = cmd.Process.Kill() // it may have exited
		<-ended
		if _, err := os.Stat(file); err == nil {
			petcat(t, place, "verify", file)
		}
	}
}

// TestScheduledBackups: a running server makes valid backups, and keeps only the configured number.
func TestScheduledBackups(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, place string) {
		folder := filepath.Join(t.TempDir(), "backups")
		n := serve(t, place, "--backup-every", "1s", "--backup-keep", "2", "--backup-dir", folder)
		backups := func() []string {
			files, err := filepath.Glob(filepath.Join(folder, "petcat-production-*.backup"))
			must(t, err)
			return files
		}
		eventually(t, "there is a backup", func() bool { return len(backups()) > 0 })
		first := backups()[0]
		eventually(t, "two later backups replace it", func() bool {
			return !slices.Contains(backups(), first) && len(backups()) == 2
		})
		n.stop()
		for _, file := range backups() {
			petcat(t, place, "verify", file)
		}
	})
}
