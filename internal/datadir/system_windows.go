package datadir

import "golang.org/x/sys/windows"

// Room returns the free space for this user on the disk of a directory, and the size of the disk,
// in bytes.
func Room(directory string) (free, size int64, err error) {
	var left, all uint64
	path, err := windows.UTF16PtrFromString(directory)
	if err == nil {
		err = windows.GetDiskFreeSpaceEx(path, &left, &all, nil)
	}
	return int64(left), int64(all), err //nolint:gosec // disks are smaller than 2^63 bytes
}

// syncDirectory is a no-op: on Windows, names are durable.
func syncDirectory(string) error { return nil }

// Exposed is a no-op: on Windows, the mode of a file does not show who can use it.
func (d *Dir) Exposed() []string { return nil }

// ownerOf returns 0: on Windows a file has the rights of its directory, and there is no root.
func ownerOf(string) (int, error) { return 0, nil }
