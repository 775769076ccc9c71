package doctor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"petcat/internal/backup"
	"petcat/internal/osfile"
)

// backups looks at the directory of scheduled backups, and at the record of the last one.
func (x *examination) backups(ctx context.Context) {
	every, folder := x.Settings.BackupEvery, x.Settings.BackupFolder()
	if every > 0 {
		x.backupFolder(folder)
	}
	if x.store == nil {
		return
	}
	last, err := backup.LastMade(ctx, x.store)
	switch {
	case err != nil:
		x.found("backups", Problem, "the record of the last one cannot be read (%v); see above what is wrong with the database", err)
	case last.File == "" && every == 0:
		x.found("backups", Warning, "there are no scheduled backups; start nodes with --backup-every 24h, or make sure that another program makes backups")
	case last.File == "":
		x.found("backups", Warning, "none has been made yet; a node makes the first when it starts, and its log says why if it fails")
	default:
		x.lastBackup(last, every)
	}
}

// lastBackup looks at the last good one. The command may lack the settings of the nodes:
// without an interval, it only reports the age.
func (x *examination) lastBackup(last backup.Made, every time.Duration) {
	age := x.Clock.Read().Time().Sub(last.TakenAt).Round(time.Second)
	if every > 0 && age > every*3/2 {
		x.found("backups", Problem, "the last good one is %s old and one is due each %s; find \"a scheduled backup failed\" in the logs of the nodes", age, every)
		return
	}
	if _, err := os.Stat(last.File); errors.Is(err, fs.ErrNotExist) && last.Host == x.Host {
		x.found("backups", Problem, "the last one, %s, is gone; find out who removed it, and make another: petcat backup FILE", last.File)
		return
	}
	x.found("backups", OK, "the last good one is %s old: %s on %s, %d bytes", age, last.File, last.Host, last.Size)
}

// backupFolder looks at the directory, and does not create it.
func (x *examination) backupFolder(folder string) {
	_, err := os.Stat(folder)
	if errors.Is(err, fs.ErrNotExist) { // a node makes it
		x.backupRoom(folder)
		return
	}
	if err == nil {
		err = osfile.PrepareDirectory(folder)
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err // the path is named already
	}
	if err != nil {
		x.found("backups", Problem, "they cannot be written to %s (%v); give this user write permission, or choose another directory with --backup-dir", folder, err)
		return
	}
	x.backupRoom(folder)
}

// backupRoom looks at the free space of the directory, which may be on another disk than the
// data, or of the one in which it will be made.
func (x *examination) backupRoom(folder string) {
	existing := folder
	for _, err := os.Stat(existing); errors.Is(err, fs.ErrNotExist) && existing != filepath.Dir(existing); _, err = os.Stat(existing) {
		existing = filepath.Dir(existing)
	}
	x.room(space{part: "backups", directory: existing, use: "the backups in " + folder, without: "none can be made"})
}
