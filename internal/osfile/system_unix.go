//go:build !windows

package osfile

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// Room returns how many bytes a user other than root has left on the disk of a directory, and
// the size of the disk.
func Room(directory string) (free, size int64, err error) {
	var s syscall.Statfs_t
	err = syscall.Statfs(directory, &s)
	return int64(s.Bavail) * int64(s.Bsize), int64(s.Blocks) * int64(s.Bsize), err //nolint:unconvert // their types differ between systems
}

// Settle makes the name of a new file or directory durable, and gives what root has created to
// the owner of the directory that it is in, so that both can use it. SQLite does so with its own
// files.
func Settle(path string) error {
	directory, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	info, err := directory.Stat()
	if err == nil && os.Geteuid() == 0 {
		if owner, ok := info.Sys().(*syscall.Stat_t); ok && owner.Uid != 0 {
			err = os.Chown(path, int(owner.Uid), int(owner.Gid))
		}
	}
	return errors.Join(err, directory.Sync(), directory.Close())
}
