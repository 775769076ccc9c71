//go:build !windows

package datadir

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// giveToOwner makes the owner of the directory the owner of a file that root has made, so
// that both can use it. SQLite does so with its own files.
func giveToOwner(file *os.File) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(filepath.Dir(file.Name()))
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || owner.Uid == 0 {
		return nil
	}
	return file.Chown(int(owner.Uid), int(owner.Gid))
}

// noRoom are the errors of a disk, or of a share of it, that is full.
func noRoom(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }

// failing is the error of a disk that does not work.
func failing(err error) bool { return errors.Is(err, unix.EIO) }
