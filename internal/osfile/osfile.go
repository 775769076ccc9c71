// Package osfile has what the os package lacks for reliable files: directories and names that
// outlast a power cut, and files that appear under their name when they are complete.
package osfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// PrepareDirectory creates a directory if it is missing, with the mode 0700, and checks that
// files can be created in it.
func PrepareDirectory(path string) error {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(path, 0o700); err == nil {
			err = Settle(path)
		}
	}
	if err != nil {
		return err
	}
	// Permission bits do not decide alone (root, read-only mounts, ACLs).
	probe, err := NewDraft(filepath.Join(path, "writable"))
	if err == nil {
		probe.Discard()
	}
	return err
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

// NewDraft creates the draft of a file, with the mode 0600.
func NewDraft(path string) (*Draft, error) {
	file, err := os.CreateTemp(filepath.Dir(path), DraftPattern(filepath.Base(path)))
	return &Draft{file, path}, err
}

// Keep makes the file durable, closes it and gives it its name, in the place of a file that has
// it. Like all files that root creates, it belongs to the owner of the directory.
func (d *Draft) Keep() error {
	err := errors.Join(d.Sync(), d.Close())
	if err == nil {
		err = os.Rename(d.Name(), d.path)
	}
	if err == nil {
		err = Settle(d.path)
	}
	return err
}

// Discard removes a file that was not kept.
func (d *Draft) Discard() {
	_ = d.Close() // it may be closed already
	_ = os.Remove(d.Name())
}
