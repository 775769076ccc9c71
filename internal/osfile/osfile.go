// Package osfile has what the os package lacks for reliable files: directories and names that
// outlast a power cut, and files that appear under their name when they are complete.
package osfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// PrepareDirectory creates a directory and those above it that are missing, with the mode
// 0700, and checks that files can be created in it.
func PrepareDirectory(path string) error {
	if err := makeDirectory(path); err != nil {
		return err
	}
	// Permission bits do not decide alone (root, read-only mounts, ACLs).
	probe, err := os.CreateTemp(path, ".writable-*")
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

func makeDirectory(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := makeDirectory(filepath.Dir(path)); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return SyncDirectory(filepath.Dir(path))
}

// SyncDirectory makes the names of the files in a directory durable. Syncing the files does
// not do that on every system.
func SyncDirectory(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	directory, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}

// IsFull reports whether an error says that there is no room: the disk, a quota, or the
// largest size of a file.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// Draft is a file that gets its name when it is complete and on disk. Until then it has
// another name in the same directory, see [DraftPattern]. Call Discard in the end.
type Draft struct {
	*os.File

	path string
}

// DraftPattern returns a pattern for [filepath.Match] that the names of drafts of a file
// match. A process that is killed while it writes a draft leaves it.
func DraftPattern(name string) string { return "." + name + ".*" }

// NewDraft creates the draft of a file, with the mode 0600. It belongs to the owner of the
// directory.
func NewDraft(path string) (*Draft, error) {
	file, err := os.CreateTemp(filepath.Dir(path), DraftPattern(filepath.Base(path)))
	if err != nil {
		return nil, err
	}
	d := &Draft{file, path}
	if err := GiveToOwner(file.Name()); err != nil {
		d.Discard()
		return nil, err
	}
	return d, nil
}

// Keep makes the file durable, closes it and gives it its name. Without replace it returns
// [fs.ErrExist] if a file has that name.
func (d *Draft) Keep(replace bool) error {
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return err
	}
	if _, err := os.Lstat(d.path); err == nil && !replace {
		return fmt.Errorf("%s: %w", d.path, fs.ErrExist)
	}
	if err := os.Rename(d.Name(), d.path); err != nil {
		return err
	}
	return SyncDirectory(filepath.Dir(d.path))
}

// Discard removes a file that was not kept.
func (d *Draft) Discard() {
	_ = d.Close() // it may be closed already
	_ = os.Remove(d.Name())
}
