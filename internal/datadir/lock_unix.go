//go:build !windows

package datadir

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock tries to get the lock, and returns errLocked while somebody else holds
// it. Each open file has its own, so that it also keeps two parts of one process
// apart.
func tryLock(file *os.File) error {
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return errLocked
		default:
			return err
		}
	}
}

func unlock(file *os.File) error { return unix.Flock(int(file.Fd()), unix.LOCK_UN) }
