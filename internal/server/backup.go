package server

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"petcat/internal/backup"
	"petcat/internal/config"
	"petcat/internal/osfile"
)

// startBackups starts the scheduled backups, if --backup-every asks for them. What may pass,
// such as a full disk, does not stop the start: the backups report it.
func (n *Node) startBackups(context.Context) error {
	if n.settings.BackupEvery == 0 {
		return nil
	}
	folder, err := filepath.Abs(n.settings.BackupFolder())
	if err == nil {
		err = osfile.PrepareDirectory(folder)
	}
	for _, never := range []error{fs.ErrPermission, syscall.EROFS, syscall.ENOTDIR} {
		if errors.Is(err, never) {
			return config.Errorf("scheduled backups cannot be written to %s (%w); give this user write permission, or choose another directory with --backup-dir", folder, never)
		}
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	n.backups = &backup.Schedule{
		Store: n.backend, Folder: folder, Every: n.settings.BackupEvery, Keep: n.settings.BackupKeep, Command: n.settings.BackupCommand,
		Host: host, Version: n.version, Clock: n.clock, Logger: n.log.Logger,
	}
	n.every(n.backups.UntilCheck, n.backups.Check)
	return nil
}
