package datadir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// HasData reports whether a directory holds a database. It makes nothing. It
// returns an [UnusableError] when that cannot be told.
func HasData(path string) (bool, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return false, &UnusableError{Path: path, cause: err}
	}
	_, err = os.Stat(filepath.Join(absolute, databaseName))
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	default:
		return false, &UnusableError{Path: absolute, cause: reason(err)}
	}
}
