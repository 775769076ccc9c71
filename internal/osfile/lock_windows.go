package osfile

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// TryLock tries to get the lock, and returns [ErrLocked] while another open file holds it.
// The lock belongs to the open file, so it also keeps two parts of one process apart. On
// Windows nobody else can read locked bytes, so the lock is on one byte far beyond the end
// of the file.
func TryLock(file *os.File) error {
	at := lockedByte()
	err := windows.LockFileEx(windows.Handle(file.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrLocked
	}
	return err
}

// Unlock releases the lock, and leaves the file open.
func Unlock(file *os.File) error {
	at := lockedByte()
	return windows.UnlockFileEx(windows.Handle(file.Fd()), 0, 1, 0, &at)
}

func lockedByte() windows.Overlapped { return windows.Overlapped{OffsetHigh: math.MaxInt32} }
