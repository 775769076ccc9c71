// Package filelock lets one process at a time have an open file. The system lets go of
// a lock when the file is closed or its process ends, in whatever way.
//
// It does not wait, and it stops nobody who does not ask. On a file system that knows no
// locks it returns the system's error.
package filelock

import "errors"

// ErrLocked is what [Try] returns while somebody else holds the lock.
var ErrLocked = errors.New("locked")
