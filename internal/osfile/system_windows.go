package osfile

import "golang.org/x/sys/windows"

// Room returns how many bytes this user has left on the disk of a directory, and its size.
func Room(directory string) (free, size int64, err error) {
	path, err := windows.UTF16PtrFromString(directory)
	if err != nil {
		return 0, 0, err
	}
	var left, all uint64
	err = windows.GetDiskFreeSpaceEx(path, &left, &all, nil)
	return int64(left), int64(all), err //nolint:gosec // no disk has 2^63 bytes
}

// Settle does nothing: on Windows a file has the rights of its directory, and names are durable.
func Settle(string) error { return nil }
