package server

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"petcat/internal/config"
)

// TestScheduledBackupsAreTold: how the last one went, and how many failed.
func TestScheduledBackupsAreTold(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "backups")
	n := startTestNode(t, func(o *Options) {
		o.Settings.BackupEvery, o.Settings.BackupKeep, o.Settings.BackupDir = time.Second, 2, folder
	})
	begun := float64(time.Now().Unix())
	n.wantMetric(t, "petcat_backup_interval_seconds", 1)
	n.awaitMetric(t, "petcat_backup_last_success_timestamp_seconds", begun)
	n.awaitMetric(t, "petcat_backup_size_bytes", 100)
	n.awaitMetric(t, "petcat_backup_duration_seconds", 1e-6)
	n.wantMetric(t, "petcat_backup_failures_total", 0)
	if err := errors.Join(os.Rename(folder, folder+".away"), os.WriteFile(folder, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	n.awaitMetric(t, "petcat_backup_failures_total", 1)
}

// TestFolderThatCannotBeUsed: a wrong setting is told at the start.
func TestFolderThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	o := testOptions(t, filepath.Join(t.TempDir(), "data"), io.Discard)
	o.Settings.BackupEvery, o.Settings.BackupKeep, o.Settings.BackupDir = time.Hour, 1, filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(o.Settings.BackupDir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), o)
	want := "scheduled backups cannot be written to " + o.Settings.BackupDir + " (not a directory); give this user write permission, or choose another directory with --backup-dir"
	if e, ok := errors.AsType[*config.Error](err); !ok || e.Error() != want {
		t.Errorf("the start ended with %v", err)
	}
}
