//go:build !windows

package osfile

import "golang.org/x/sys/unix"

// FreeBytes returns how much room a user other than root has on the disk of a directory.
func FreeBytes(directory string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(directory, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil //nolint:unconvert // their types differ between systems
}
