//go:build !windows

package osfile

import (
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// FreeBytes returns how much room a user other than root has on the disk of a directory.
func FreeBytes(directory string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(directory, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil //nolint:unconvert // their types differ between systems
}

// GiveToOwner gives a file that root has created to the owner of its directory, so that both
// can use it. SQLite does so with its own files.
func GiveToOwner(path string) error {
	info, err := os.Stat(filepath.Dir(path))
	if err != nil || os.Geteuid() != 0 {
		return err
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && owner.Uid != 0 {
		return os.Chown(path, int(owner.Uid), int(owner.Gid))
	}
	return nil
}
