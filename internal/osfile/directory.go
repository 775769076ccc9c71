package osfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// directoryMode lets only the owner into a directory.
const directoryMode fs.FileMode = 0o700

// ErrNotDirectory is what [PrepareDirectory] returns for a file of another kind.
var ErrNotDirectory = errors.New("it is not a directory")

// PrepareDirectory makes a directory when it is missing, with the mode 0700 whatever the
// umask, and those above it, so that they outlast a power cut. It checks that files can
// be made in it. The modes of a directory that exists are its owner's choice and stay.
func PrepareDirectory(path string) error {
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		if err := makeDirectory(path); err != nil {
			return err
		}
		if err := os.Chmod(path, directoryMode); err != nil {
			return err
		}
	case err != nil:
		return err
	case !info.IsDir():
		return ErrNotDirectory
	}
	// Permission bits do not decide alone (root, read-only mounts, ACLs): only creating a
	// file shows whether it works.
	probe, err := os.CreateTemp(path, ".writable-*")
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// makeDirectory makes a directory and those above it that are missing.
func makeDirectory(path string) error {
	parent := filepath.Dir(path)
	if _, err := os.Stat(parent); errors.Is(err, fs.ErrNotExist) {
		if err := makeDirectory(parent); err != nil {
			return err
		}
	}
	// Another process may be about to make the same one, and has perhaps not come
	// to the sync yet.
	if err := os.Mkdir(path, directoryMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return SyncDirectory(parent)
}

// SyncDirectory makes the names of the files in a directory durable. Syncing the files does
// not do that on every system.
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
