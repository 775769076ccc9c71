package datadir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// HasData reports whether a directory holds a database. It makes nothing. It
// returns an [openerror.Error] when that cannot be told.
func HasData(path string) (bool, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return false, unusable(path, err)
	}
	_, err = os.Stat(filepath.Join(absolute, databaseName))
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	default:
		return false, unusable(absolute, err)
	}
}
