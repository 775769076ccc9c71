//go:build !windows

package datadir

import (
	"errors"
	"fmt"
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

// Exposed returns a sentence with the remedy for the directory of the database, and for each of its files,
// that other users can use, and for each file that another user owns. The bits of the group don't
// count, because Kubernetes sets them.
func (d *Dir) Exposed() (sentences []string) {
	paths := []string{d.Disk()}
	for _, suffix := range []string{"", "-wal", "-shm", ".lock"} {
		paths = append(paths, d.database+suffix)
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			continue // SQLite creates and removes files
		}
		if mode := info.Mode().Perm(); mode&0o007 != 0 {
			sentences = append(sentences, fmt.Sprintf(
				"other users of this machine can use %s, because its mode is %04o; run: chmod o= %s",
				path, mode, path))
		}
		owner := int(info.Sys().(*syscall.Stat_t).Uid)
		if user := os.Geteuid(); owner != user && !info.IsDir() {
			sentences = append(sentences, fmt.Sprintf(
				"%s belongs to another user than the one that runs this command; run as root: chown %d %s",
				path, user, path))
		}
	}
	return sentences
}

// ownerOf returns the user id of a directory's owner.
func ownerOf(path string) (int, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return int(info.Sys().(*syscall.Stat_t).Uid), nil
}
