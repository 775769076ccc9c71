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
