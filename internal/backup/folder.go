package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/datadir"
)

// Folder is a directory with the backups of a deployment, whose names contain their times. It may
// also contain other files, such as backups of other deployments.
type Folder struct {
	Path        string
	Environment petcat.Environment // of the data
	Dataset     string             // name of the data
	Version     string             // of petcat
}

// prefix is the beginning of the names of the deployment's backups.
func (f Folder) prefix() string {
	return fmt.Sprintf("petcat-%s-%.8s-", f.Environment, f.Dataset)
}

// errDamaged is in the error of a backup in which verification found faults.
var errDamaged = errors.New("check the data with petcat verify")

// Write makes and verifies a backup, and returns its path. After an error there is no file.
func (f Folder) Write(ctx context.Context, from Source, c clock.Clock) (path string, i Info, err error) {
	now := c.Read().Time()
	path = filepath.Join(f.Path, f.prefix()+now.UTC().Format("20060102T150405Z")+".backup")
	draft, err := datadir.NewDraft(path)
	if err != nil {
		return "", Info{}, err
	}
	defer draft.Discard()
	i, err = Create(ctx, draft.Name(), from, f.Version, now)
	if err == nil {
		err = draft.Sync()
	}
	var faults []string
	if err == nil {
		_, faults, err = Verify(ctx, draft.Name())
	}
	if len(faults) > 0 {
		err = fmt.Errorf("the backup has %d faults, the first is: %s; %w", len(faults), faults[0], errDamaged)
	}
	if err == nil {
		err = draft.Keep()
	}
	return path, i, err
}

// Keep deletes the oldest backups until count remain. It never deletes newest, a path: its name may
// be older after a change of the clock.
func (f Folder) Keep(count int, newest string) error {
	names, err := fs.Glob(os.DirFS(f.Path), f.prefix()+"*.backup") // ascending
	names = slices.DeleteFunc(names, func(name string) bool { return name == filepath.Base(newest) })
	for _, name := range names[:max(0, len(names)-(count-1))] {
		err = errors.Join(err, os.Remove(filepath.Join(f.Path, name)))
	}
	return err
}

// RemoveDrafts deletes the unfinished backups of killed processes that were last written before a time.
func (f Folder) RemoveDrafts(before time.Time) error {
	names, err := fs.Glob(os.DirFS(f.Path), datadir.DraftPattern(f.prefix()+"*.backup"))
	for _, name := range names {
		path := filepath.Join(f.Path, name)
		written, e := lastWritten(path)
		if e == nil && written.Before(before) {
			e = os.RemoveAll(path)
		}
		if !errors.Is(e, fs.ErrNotExist) { // another process has kept or removed it
			err = errors.Join(err, e)
		}
	}
	return err
}

// lastWritten returns the time when a draft's directory or a file in it was last written.
func lastWritten(draft string) (last time.Time, err error) {
	err = filepath.WalkDir(draft, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
		return err
	})
	return last, err
}
