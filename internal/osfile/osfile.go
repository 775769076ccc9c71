// Package osfile has what the os package lacks for files that must be right: locks on
// open files, names that last, files that appear only when they are complete, and
// directories that can be written.
//
// A lock lets one process at a time have a file. The system lets go of it when the file
// is closed or its process ends, in whatever way. Nobody waits for one, and it stops
// nobody who does not ask. On a file system that cannot do either, the error is the
// system's.
package osfile

import "errors"

// ErrLocked is what [TryLock] returns while somebody else holds the lock.
var ErrLocked = errors.New("locked")
