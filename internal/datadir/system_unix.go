//go:build !windows

package datadir

import (
	"errors"
	"os"
	"syscall"
)

// Room returns the free space on the disk of a directory, for users other than root, and the
// size of the disk, in bytes.
func Room(directory string) (free, size int64, err error) {
	var s syscall.Statfs_t
	err = syscall.Statfs(directory, &s)
	return int64(s.Bavail) * int64(s.Bsize), int64(s.Blocks) * int64(s.Bsize), err //nolint:unconvert // their types differ between systems
}

// syncDirectory makes the names of new files in a directory durable.
func syncDirectory(path string) error {
	directory, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}

// ownerOf returns the user id of a directory's owner.
func ownerOf(path string) (int, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return int(info.Sys().(*syscall.Stat_t).Uid), nil
}
