// Package osfile has what the os package lacks for reliable files: locks on open files,
// durable names, files that appear only when they are complete, and directories that can
// be written.
//
// A lock is held by one open file at a time. The system releases it when the file is closed
// or its process ends in any way. TryLock does not wait. Locks are advisory: a program that
// does not try to get one is not stopped. If a file system supports no locks or no sync, the
// error is the system's.
package osfile

import "errors"

// ErrLocked is the error of [TryLock] while another open file holds the lock.
var ErrLocked = errors.New("locked")
