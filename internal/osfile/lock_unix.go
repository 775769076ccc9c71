//go:build !windows

package osfile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// TryLock tries to get the lock, and returns [ErrLocked] while another open file holds it.
// The lock belongs to the open file, so it also keeps two parts of one process apart.
func TryLock(file *os.File) error {
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return ErrLocked
		default:
			return err
		}
	}
}

// Unlock releases the lock, and leaves the file open.
func Unlock(file *os.File) error { return unix.Flock(int(file.Fd()), unix.LOCK_UN) }
