package osfile

import "golang.org/x/sys/windows"

// FreeBytes returns how much room there is for this user on the disk of a directory.
func FreeBytes(directory string) (int64, error) {
	path, err := windows.UTF16PtrFromString(directory)
	if err != nil {
		return 0, err
	}
	var free uint64
	err = windows.GetDiskFreeSpaceEx(path, &free, nil, nil)
	return int64(free), err //nolint:gosec // no disk has 2^63 bytes
}

// Settle does nothing: on Windows a file has the rights of its directory, and names are durable.
func Settle(string) error { return nil }
