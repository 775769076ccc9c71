package datadir

import (
	"errors"
	"os"

	"petcat/internal/osfile"
)

// turnLockName is the lock of those who wait to write.
const turnLockName = "turn.lock"

// Turn lets processes that write to the same data take turns. A busy server leaves gaps of
// microseconds between its transactions, and a process that looks every millisecond misses
// them for a long time. So a process that waits announces it, and the server then leaves a
// longer gap. Turn guards nothing: a process that ignores it only waits longer, or makes
// others wait. Only its owner may use it, one call at a time.
type Turn struct{ file *os.File }

// Turn opens the file by which processes take turns. It returns an [openerror.Error].
func (d *Dir) Turn() (*Turn, error) {
	file, err := create(d.File(turnLockName))
	if err != nil {
		return nil, unusable(d.path, err)
	}
	return &Turn{file: file}, nil
}

// Want announces that this process waits, until it calls Release or ends. Calling it again
// does no harm. While another process announces that it waits, that stands for this one, too.
func (t *Turn) Want() { _ = osfile.TryLock(t.file) }

// Release says that this process waits no longer.
func (t *Turn) Release() { _ = osfile.Unlock(t.file) }

// Wanted reports whether another process waits. It costs a microsecond.
func (t *Turn) Wanted() bool {
	err := osfile.TryLock(t.file)
	if err == nil {
		t.Release()
	}
	return errors.Is(err, osfile.ErrLocked)
}

// Close closes the file.
func (t *Turn) Close() error { return t.file.Close() }
