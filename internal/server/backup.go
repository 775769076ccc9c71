package server

import (
	"context"
	"os"
	"path/filepath"

	"petcat/internal/backup"
	"petcat/internal/config"
)

// startBackups starts the scheduled backups, if --backup-every asks for them.
func (n *Node) startBackups(ctx context.Context) error {
	if n.settings.BackupEvery == 0 {
		return nil
	}
	folder, err := filepath.Abs(n.settings.BackupFolder())
	if err == nil {
		err = backup.PrepareFolder(folder)
	}
	if err != nil {
		return config.Errorf("scheduled backups cannot be written to %s (%w); give this user write permission, or choose another directory with --backup-dir", folder, err)
	}
	if backup.IsOpen(folder) {
		n.log.WarnContext(ctx, "users other than the owner have access to the directory of the backups; chmod 0700 removes it", "folder", folder)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	n.backups = backup.NewSchedule(backup.ScheduleOptions{
		Store: n.backend, Folder: folder, Every: n.settings.BackupEvery, Keep: n.settings.BackupKeep,
		Command: n.settings.BackupCommand, Host: host, Version: n.version, Clock: n.clock, Logger: n.log.Logger,
	})
	n.backupChecks = startPeriodic(ctx, n.backups.UntilCheck, n.backups.Check)
	return nil
}

func (n *Node) registerBackupMetrics() {
	if n.backups == nil {
		return
	}
	m, last := n.metrics, n.backups.Last
	m.Gauge("petcat_backup_interval_seconds", n.settings.BackupEvery.Seconds)
	m.Gauge("petcat_backup_last_success_timestamp_seconds", func() float64 {
		if at := last().TakenAt; !at.IsZero() {
			return float64(at.Unix())
		}
		return 0
	})
	m.Gauge("petcat_backup_duration_seconds", func() float64 { return last().Seconds })
	m.Gauge("petcat_backup_size_bytes", func() float64 { return float64(last().Size) })
	m.Counter("petcat_backup_failures_total", func() float64 { return float64(n.backups.Failures()) })
}
