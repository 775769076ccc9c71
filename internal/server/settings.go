package server

import (
	"errors"
	"io/fs"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/config"
	"github.com/petcat-api/petcat/internal/datadir"
	"github.com/petcat-api/petcat/internal/tracing"
)

// CheckSettings checks the files, programs and networks that settings name, and the variables of
// OpenTelemetry, before they are used. It is read-only. Each error is a [petcat.UnusableError]
// that names the setting, not its value, which may contain a secret.
func CheckSettings(s config.Settings, environ map[string]string) (wrong []error) {
	for _, err := range []error{
		checkTrustedProxies(s),
		checkBackupDirectory(s),
		checkBackupCommand(s),
		tracing.Check(environ),
	} {
		if err != nil {
			wrong = append(wrong, err)
		}
	}
	return wrong
}

// checkTrustedProxies rejects a network of all addresses: clients could choose their address.
func checkTrustedProxies(s config.Settings) error {
	for _, network := range s.TrustedProxies {
		if network.Bits() == 0 {
			return petcat.Unusablef(nil,
				"--trusted-proxies (PETCAT_TRUSTED_PROXIES) must not contain all addresses, because every client could "+
					"then choose its address; name the networks of your proxies")
		}
	}
	return nil
}

func checkBackupDirectory(s config.Settings) error {
	if s.BackupEvery == 0 {
		return nil
	}
	return unusableForBackups(datadir.CheckWritable(s.BackupDir))
}

// unusableForBackups returns the error of a backup directory that prevents the start. Only permanent errors
// do: a full disk, for example, is reported by each backup.
func unusableForBackups(err error) error {
	if _, ok := errors.AsType[*petcat.UnusableError](err); ok {
		return err // of another user
	}
	for _, never := range []error{fs.ErrPermission, fs.ErrNotExist, syscall.EROFS, syscall.ENOTDIR} {
		if errors.Is(err, never) {
			return petcat.Unusablef(never, "scheduled backups cannot be written to the directory of --backup-dir "+
				"(PETCAT_BACKUP_DIR) (%v); give this user write permission, or choose another directory", never)
		}
	}
	return nil
}

func checkBackupCommand(s config.Settings) error {
	if s.BackupCommand == "" {
		return nil
	}
	if _, err := exec.LookPath(s.BackupCommand); err != nil {
		return petcat.Unusablef(err, "--backup-command (PETCAT_BACKUP_COMMAND) must be the path of a program that "+
			"this user may run, without arguments; write a script for more")
	}
	return nil
}

// prepareBackups creates the directory for backups.
func prepareBackups(s config.Settings) (folder string, err error) {
	folder, err = filepath.Abs(s.BackupDir)
	if err != nil {
		return "", err
	}
	return folder, unusableForBackups(datadir.Prepare(folder))
}
