package datadir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"petcat/internal/openerror"
	"petcat/internal/osfile"
)

// The lock files. They are never removed: a lock on a removed file guards
// nothing.
const (
	serverLockName    = "server.lock"
	migrationLockName = "migration.lock"
)

// lockPoll is how often a lock that somebody else holds is tried again. A change
// of the schema takes milliseconds, and 10 more of them do not matter.
const lockPoll = 10 * time.Millisecond

// Lock is held until it is closed, or its process ends in whatever way.
type Lock struct{ file *os.File }

// Close lets go of the lock.
func (l *Lock) Close() error { return l.file.Close() }

// inUse says that another server has the directory; process is 0 when it did not
// say which it is.
func inUse(path string, process int) error {
	who := "another petcat server"
	if process != 0 {
		who = fmt.Sprintf("another petcat server (process %d)", process)
	}
	return openerror.Replaceablef(openerror.InUse, nil, "the data directory %s is in use by %s; stop that one", path, who)
}

// LockServer makes the caller the directory's one server. It does not wait: it
// returns an [openerror.Error] of kind InUse when there is one already.
func (d *Dir) LockServer() (*Lock, error) {
	file, err := create(d.File(serverLockName))
	if err != nil {
		return nil, unusable(d.path, err)
	}
	if err := osfile.TryLock(file); err != nil {
		process := readProcess(file)
		_ = file.Close()
		if errors.Is(err, osfile.ErrLocked) {
			return nil, inUse(d.path, process)
		}
		return nil, unusable(d.path, err)
	}
	if err := writeProcess(file); err != nil {
		_ = file.Close()
		return nil, unusable(d.path, err)
	}
	return &Lock{file: file}, nil
}

// LockMigration lets one process at a time look at the schema and change it. It
// waits for the others.
func (d *Dir) LockMigration(ctx context.Context) (*Lock, error) {
	file, err := create(d.File(migrationLockName))
	if err != nil {
		return nil, unusable(d.path, err)
	}
	poll := time.NewTicker(lockPoll)
	defer poll.Stop()
	for {
		err := osfile.TryLock(file)
		if err == nil {
			return &Lock{file: file}, nil
		}
		if !errors.Is(err, osfile.ErrLocked) {
			_ = file.Close()
			return nil, unusable(d.path, err)
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			_ = file.Close()
			return nil, fmt.Errorf("wait for another process that changes the schema in %s: %w", d.path, ctx.Err())
		}
	}
}

func writeProcess(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// readProcess returns what the holder wrote, 0 when there is nothing to read.
func readProcess(file *os.File) int {
	text, err := io.ReadAll(io.LimitReader(file, 32))
	if err != nil {
		return 0
	}
	process, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return process
}
