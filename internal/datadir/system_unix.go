//go:build !windows

package datadir

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// Room returns the free space on the disk of a directory, for users other than root, and the
// size of the disk, in bytes.
func Room(directory string) (free, size int64, err error) {
	var s syscall.Statfs_t
	err = syscall.Statfs(directory, &s)
	return int64(s.Bavail) * int64(s.Bsize), int64(s.Blocks) * int64(s.Bsize), err //nolint:unconvert // their types differ between systems
}

// settle makes the name of a new file or directory durable. Files that root creates get the
// owner of their directory, so that both can use them; SQLite does the same.
func settle(path string) error {
	directory, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	info, err := directory.Stat()
	if err == nil && os.Geteuid() == 0 {
		if owner := info.Sys().(*syscall.Stat_t); owner.Uid != 0 {
			err = os.Chown(path, int(owner.Uid), int(owner.Gid))
		}
	}
	return errors.Join(err, directory.Sync(), directory.Close())
}
