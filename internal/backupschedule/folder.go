package backupschedule

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"petcat"
	"petcat/internal/osfile"
)

const (
	ending = ".backup"
	// nameTime is the moment in a file's name: names sort by it.
	nameTime = "20060102T150405Z"
	// othersMay are the bits of a mode that give access to users other than the owner.
	othersMay fs.FileMode = 0o077
)

// PrepareFolder creates the folder if it is missing, with the mode 0700, and checks that
// it can be written. Its error completes a sentence that names the folder. What may pass,
// such as a full disk, is not an error here: the backups report it.
func PrepareFolder(path string) error {
	err := osfile.PrepareDirectory(path)
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err // the path is named already
	}
	for _, never := range []error{fs.ErrPermission, syscall.EROFS, syscall.ENOTDIR, osfile.ErrNotDirectory} {
		if errors.Is(err, never) {
			return err
		}
	}
	return nil
}

// IsOpen reports whether users other than the owner have access to a folder. The files in
// it have the mode 0600 all the same, but others may see their names, or remove them.
func IsOpen(path string) bool {
	info, err := os.Stat(path)
	return err == nil && runtime.GOOS != "windows" && info.Mode()&othersMay != 0
}

// files are the scheduled backups of one set of data in a folder. Others, also those of
// another deployment, are none of its business.
type files struct {
	folder string
	prefix string // of their names
}

func filesOf(folder string, env petcat.Environment, dataset string) files {
	return files{folder: folder, prefix: fmt.Sprintf("petcat-%s-%.8s-", env, dataset)}
}

// path returns the path of the file for a backup that begins now.
func (f files) path(now time.Time) string {
	return filepath.Join(f.folder, f.prefix+now.UTC().Format(nameTime)+ending)
}

// names returns the names for which is is true, ascending.
func (f files) names(is func(name string) bool) (names []string, err error) {
	entries, err := os.ReadDir(f.folder)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if entry.Type().IsRegular() && is(entry.Name()) {
			names = append(names, entry.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// is reports whether a name is that of a backup.
func (f files) is(name string) bool {
	moment, found := strings.CutPrefix(strings.TrimSuffix(name, ending), f.prefix)
	_, err := time.Parse(nameTime, moment)
	return found && err == nil && strings.HasSuffix(name, ending)
}

// removeDrafts removes what a killed process left. Nobody may be writing.
func (f files) removeDrafts() error {
	pattern := osfile.DraftPattern(f.prefix + "*" + ending)
	names, err := f.names(func(name string) bool {
		matches, err := filepath.Match(pattern, name)
		return matches && err == nil
	})
	return errors.Join(err, f.remove(names))
}

// removeOld removes the oldest backups, so that keep are left. The newest, which was
// verified just now, stays, whatever the clock says.
func (f files) removeOld(keep int, newest string) error {
	names, err := f.names(f.is)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == filepath.Base(newest) })
	return f.remove(names[:max(0, len(names)-(keep-1))])
}

func (f files) remove(names []string) (err error) {
	for _, name := range names {
		err = errors.Join(err, os.Remove(filepath.Join(f.folder, name)))
	}
	return err
}
