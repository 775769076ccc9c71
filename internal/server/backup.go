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
	n.every(n.backups.UntilCheck, n.backups.Check)
	return nil
}
