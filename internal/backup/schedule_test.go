package backup

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/petcat-api/petcat/internal/clocktest"
	"github.com/petcat-api/petcat/internal/pgtest"
	"github.com/petcat-api/petcat/internal/sqlite"
	"github.com/petcat-api/petcat/internal/store"
)

// schedule makes hourly backups in its own folder, and keeps two.
type schedule struct {
	*Schedule

	t     *testing.T
	clock *clocktest.Manual
}

func newSchedule(t *testing.T, s stored) *schedule {
	t.Helper()
	c := clocktest.NewManual(noon)
	folder := t.TempDir()
	return &schedule{t: t, clock: c, Schedule: &Schedule{
		Database:    s,
		Shared:      s,
		Environment: s.Environment(),
		Dataset:     s.Dataset(),
		Folder:      folder,
		Every:       time.Hour,
		Keep:        2,
		Host:        "host",
		Version:     "test",
		Clock:       c,
		Logger:      slog.New(slog.DiscardHandler),
		Failed:      func(context.Context) {},
	}}
}

// after advances the clock, checks, and returns the names in the folder.
func (s *schedule) after(d time.Duration) (names []string) {
	s.t.Helper()
	s.clock.Advance(d)
	s.Check(s.t.Context())
	entries, err := os.ReadDir(s.Folder)
	must(s.t, err)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestSchedule(t *testing.T) {
	st := filled(t, 1)
	s := newSchedule(t, st)
	name := func(hour string) string {
		return "petcat-production-" + st.Dataset()[:8] + "-20270304T" + hour + "0000Z.backup"
	}
	killed := filepath.Join(s.Folder, "."+name("11")+".123") // of a killed node
	must(t, os.Mkdir(killed, 0o700))
	must(t, os.WriteFile(filepath.Join(killed, name("11")), nil, 0o600))
	must(t, os.WriteFile(filepath.Join(s.Folder, "other.backup"), nil, 0o600))
	for _, step := range []struct {
		after time.Duration
		want  []string
	}{
		{0, []string{name("12")}},
		{59 * time.Minute, []string{name("12")}},
		{time.Minute, []string{name("12"), name("13")}},
		{time.Hour, []string{name("13"), name("14")}},
	} {
		got := s.after(step.after)
		got = slices.DeleteFunc(got, func(name string) bool { return name == "other.backup" })
		if !slices.Equal(got, step.want) {
			t.Fatalf("after %s, got the files %v, want %v", step.after, got, step.want)
		}
	}
	last := s.Last()
	_, findings, err := Verify(t.Context(), last.File)
	if err != nil || len(findings) > 0 || s.Failures.Load() != 0 {
		t.Errorf("the last backup: %q, %v, and %d failures", findings, err, s.Failures.Load())
	}
	if !last.TakenAt.Equal(noon.Add(2*time.Hour)) || last.Size == 0 {
		t.Errorf("the last backup is %+v", last)
	}
	other := newSchedule(t, st) // of another node, or after a restart
	names := other.after(2*time.Hour + 59*time.Minute)
	if len(names) > 0 || other.Last() != last || other.UntilCheck() != time.Minute {
		t.Errorf("after another node's check, got %v and %+v", names, other.Last())
	}
	late := newSchedule(t, st)
	late.Database = busy{st}
	if names := late.after(9 * time.Hour); len(names) > 0 || late.Last() != last || late.Failures.Load() != 0 {
		t.Errorf("during another node's backup, got %v and %+v", names, late.Last())
	}
	if names := other.after(-24 * time.Hour); len(names) != 1 {
		t.Errorf("after the clock was set back, got the files %v", names)
	}
}

// busy is a database that another node is backing up.
type busy struct{ Database }

func (busy) Alone(context.Context, store.Job, func(context.Context) error) error { return nil }

// faulty is a database with faulty copies.
type faulty struct{ Database }

func (f faulty) Backup(ctx context.Context, to store.Copy) error {
	if err := f.Database.Backup(ctx, to); err != nil {
		return err
	}
	db, err := sqlite.EditFile(ctx, to.Path())
	if err != nil {
		return err
	}
	_, err = db.Exec("UPDATE api_keys SET account_id = 99")
	return errors.Join(err, db.Close())
}

// TestScheduleFails: a failure does not leave a file or delete an older backup, and is retried before the
// next interval.
func TestScheduleFails(t *testing.T) {
	st := filled(t, 1)
	s := newSchedule(t, st)
	good := s.after(0)
	s.Database = faulty{st}
	if got := s.after(time.Hour); !slices.Equal(got, good) || s.Failures.Load() != 1 || s.Damaged.Load() != 1 || s.UntilCheck() != retryAfter {
		t.Errorf("with a fault, got the files %v and %d failures", got, s.Failures.Load())
	}
	s.Database = st
	stopped, stop := context.WithCancel(t.Context())
	stop()
	s.Check(stopped)
	if s.Failures.Load() != 1 {
		t.Error("a failure was counted when the node stopped")
	}
	folder := s.Folder
	s.Folder = filepath.Join(folder, "none")
	s.Check(t.Context())
	s.Folder = folder
	if got := s.after(retryAfter); len(got) != 2 || s.Failures.Load() != 2 || s.Damaged.Load() != 1 {
		t.Errorf("after the failures, got the files %v and %d failures", got, s.Failures.Load())
	}
}

// TestScheduleCommand: the command runs with the path of each backup. If it fails, the backup does
// not count, and the next attempt replaces it.
func TestScheduleCommand(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the command is a shell script")
	}
	s := newSchedule(t, filled(t, 1))
	command := func(text string) {
		s.Command = filepath.Join(t.TempDir(), "command")
		must(t, os.WriteFile(s.Command, []byte("#!/bin/sh\n"+text), 0o700)) // #nosec G306 -- it is run
	}
	command("echo disk full; exit 3")
	err := s.runCommand(t.Context(), "FILE")
	if err == nil || !strings.Contains(err.Error(), "exit status 3: disk full") {
		t.Errorf("the command returned %v", err)
	}
	first := s.after(0)
	second := s.after(retryAfter)
	if len(first) != 1 || len(second) != 1 || first[0] == second[0] || s.Failures.Load() != 2 || s.Last().File != "" {
		t.Errorf("got the files %v, then %v, and %d failures", first, second, s.Failures.Load())
	}
	command(`echo "$1" >"$0.got"`)
	third := s.after(retryAfter)
	text, err := os.ReadFile(s.Command + ".got")
	must(t, err)
	got := strings.TrimSpace(string(text))
	if len(third) != 1 || got != filepath.Join(s.Folder, third[0]) || s.Last().File != got {
		t.Errorf("the command got %q; the files are %v", text, third)
	}
}

// TestCommandHangs: no other node makes a backup while the command runs, so it is killed after the
// interval.
func TestCommandHangs(t *testing.T) {
	s := newSchedule(t, filled(t, 1))
	s.Every, s.Command = 100*time.Millisecond, "sleep"
	err := s.runCommand(t.Context(), "3600")
	if err == nil || !strings.Contains(err.Error(), "it took longer than 100ms") {
		t.Errorf("the command returned %v", err)
	}
}

// copying is a copy during which a node reads.
type copying struct {
	*File

	node stored
}

func (c copying) Fill(t store.Table, rows iter.Seq2[[]any, error]) error {
	_, err := c.node.SharedText(context.Background(), lastMadeName)
	return errors.Join(err, c.File.Fill(t, rows))
}

// TestOneNodeAtATime: only one node of a PostgreSQL deployment makes a backup at a time. It can
// still read, even with few connections, and the lock does not hold a snapshot.
func TestOneNodeAtATime(t *testing.T) {
	url := server.Server(t).Database(t)
	a, b := openPostgres(t, url+"&pool_max_conns=3"), openPostgres(t, url)
	observer := pgtest.Connect(t, url)
	failed, ran := errors.New("failed"), 0
	err := a.Alone(t.Context(), store.BackupJob, func(ctx context.Context) error {
		other := b.Alone(ctx, store.BackupJob, func(context.Context) error { ran++; return nil })
		sent := false
		sending := b.Alone(ctx, store.WebhookJob, func(context.Context) error { sent = true; return nil })
		if sending != nil || !sent {
			t.Errorf("during a backup, another node could not send to webhooks: %v", sending)
		}
		var snapshots int
		const query = `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = 'petcat' AND backend_xmin IS NOT NULL`
		counted := observer.QueryRow(ctx, query).Scan(&snapshots)
		f := emptyFile(t)
		if err := errors.Join(other, counted, a.Backup(ctx, copying{f, a}), f.Close()); err != nil || snapshots > 0 {
			t.Errorf("the lock keeps %d snapshots; %v", snapshots, err)
		}
		return failed
	})
	if ran > 0 || !errors.Is(err, failed) {
		t.Errorf("another node ran %d times; got %v", ran, err)
	}
	if err := b.Alone(t.Context(), store.BackupJob, func(context.Context) error { ran++; return nil }); ran != 1 || err != nil {
		t.Errorf("after the other node: ran %d times, got %v", ran, err)
	}
}

// forgetful are shared texts whose read or write fails.
type forgetful struct {
	SharedTexts

	reads         int // how many succeed
	failing       error
	rejectsWrites bool
}

func (f *forgetful) SharedText(ctx context.Context, name string) (string, error) {
	if f.reads == 0 {
		return "", f.failing
	}
	f.reads--
	return f.SharedTexts.SharedText(ctx, name)
}

func (f *forgetful) SetSharedText(ctx context.Context, name, text string) error {
	if f.rejectsWrites {
		return f.failing
	}
	return f.SharedTexts.SetSharedText(ctx, name, text)
}

// occupy makes a directory, which is neither removed nor replaced.
func (s *schedule) occupy(name string) {
	s.t.Helper()
	must(s.t, os.MkdirAll(filepath.Join(s.Folder, name, "sub"), 0o700))
}

// TestUndeletedBackups: a backup whose predecessors cannot be deleted counts, and the log reports it.
func TestUndeletedBackups(t *testing.T) {
	st := filled(t, 1)
	s := newSchedule(t, st)
	var log strings.Builder
	s.Logger = slog.New(slog.NewTextHandler(&log, nil))
	for _, day := range []string{"02", "03"} {
		s.occupy("petcat-production-" + st.Dataset()[:8] + "-202703" + day + "T120000Z.backup")
	}
	if names := s.after(0); len(names) != 3 || s.Failures.Load() != 0 {
		t.Errorf("got the files %v and %d failures", names, s.Failures.Load())
	}
	if !strings.Contains(log.String(), "deletion of old backups failed") {
		t.Errorf("log: %s", &log)
	}
}

// TestScheduleReportsErrors: an error in any step of a check is counted, and logged with its cause.
func TestScheduleReportsErrors(t *testing.T) {
	st := filled(t, 1)
	prefix := "petcat-production-" + st.Dataset()[:8] + "-20270304T120000Z.backup"
	failing := errors.New("the text is lost")
	for _, tt := range []struct {
		name string
		fail func(s *schedule)
		want string
	}{
		{"the last backup is unknown", func(s *schedule) {
			s.Shared = &forgetful{SharedTexts: st, failing: failing}
		}, failing.Error()},
		{"the last backup is unknown when no other node makes one", func(s *schedule) {
			s.Shared = &forgetful{SharedTexts: st, failing: failing, reads: 1}
		}, failing.Error()},
		{"the backup is not recorded", func(s *schedule) {
			s.Shared = &forgetful{SharedTexts: st, failing: failing, reads: 2, rejectsWrites: true}
		}, "record the last backup: " + failing.Error()},
		{"the name is taken", func(s *schedule) { s.occupy(prefix) }, prefix},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSchedule(t, st)
			var log strings.Builder
			s.Logger = slog.New(slog.NewTextHandler(&log, nil))
			tt.fail(s)
			s.Check(t.Context())
			if got := s.Failures.Load(); got != 1 || s.UntilCheck() != retryAfter {
				t.Errorf("there are %d failures, and a retry in %s; want 1, %s", got, s.UntilCheck(), retryAfter)
			}
			if !strings.Contains(log.String(), tt.want) {
				t.Errorf("the log is %q, want %q in it", log.String(), tt.want)
			}
		})
	}
}
