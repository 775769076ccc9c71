package datadir

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// giveToOwner does nothing: on Windows a file has the rights of its directory.
func giveToOwner(*os.File) error { return nil }

// noRoom is the error of a disk that is full.
func noRoom(err error) bool { return errors.Is(err, windows.ERROR_DISK_FULL) }

// failing is the error of a disk that does not work.
func failing(err error) bool { return errors.Is(err, windows.ERROR_IO_DEVICE) }

// FreeBytes returns how much room there is on the disk for this user.
func (d *Dir) FreeBytes() (int64, error) {
	path, err := windows.UTF16PtrFromString(d.path)
	if err != nil {
		return 0, err
	}
	var free uint64
	err = windows.GetDiskFreeSpaceEx(path, &free, nil, nil)
	return int64(free), err //nolint:gosec // no disk has 2^63 bytes
}
