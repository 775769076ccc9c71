// Package osfile has what the os package lacks for files that must be right: locks on
// open files, and names that last.
//
// A lock lets one process at a time have a file. The system lets go of it when the file
// is closed or its process ends, in whatever way. Nobody waits for one, and it stops
// nobody who does not ask. On a file system that cannot do either, the error is the
// system's.
package osfile

import (
	"errors"
	"os"
	"runtime"
)

// ErrLocked is what [TryLock] returns while somebody else holds the lock.
var ErrLocked = errors.New("locked")

// SyncDirectory makes the names in a directory durable, where that takes a call: syncing
// a file does not.
func SyncDirectory(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	directory, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}
