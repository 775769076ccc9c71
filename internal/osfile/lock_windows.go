package osfile

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// TryLock tries to get the lock, and returns [ErrLocked] while somebody else
// holds it. Each open file has its own, so that it also keeps two parts of one process
// apart. Windows lets nobody else read what is locked, so the lock is on one byte
// far behind whatever the file holds.
func TryLock(file *os.File) error {
	at := lockedByte()
	err := windows.LockFileEx(windows.Handle(file.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrLocked
	}
	return err
}

// Unlock lets go of the lock, and leaves the file open.
func Unlock(file *os.File) error {
	at := lockedByte()
	return windows.UnlockFileEx(windows.Handle(file.Fd()), 0, 1, 0, &at)
}

func lockedByte() windows.Overlapped { return windows.Overlapped{OffsetHigh: math.MaxInt32} }
