package osfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Draft is a file that gets its name only when it is complete and on disk. Until then it has
// another name in the same directory, see [DraftPattern]. Use [NewDraft], and call Discard
// in the end.
type Draft struct {
	*os.File

	path string
	kept bool
}

// DraftPattern returns a pattern for [filepath.Match] that the names of drafts of a file
// match. A process that is killed while it writes a draft leaves it.
func DraftPattern(name string) string { return "." + name + ".*" }

// NewDraft makes the draft of a file, with the mode 0600. It is made beside the file,
// because only within a file system can a file be renamed.
func NewDraft(path string) (*Draft, error) {
	file, err := os.CreateTemp(filepath.Dir(path), DraftPattern(filepath.Base(path)))
	if err != nil {
		return nil, err
	}
	return &Draft{File: file, path: path}, nil
}

// Keep makes the file durable, closes it and gives it its name. Without replace it returns
// [fs.ErrExist] if a file with that name exists.
func (d *Draft) Keep(replace bool) error {
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return err
	}
	name := takeName
	if replace {
		name = os.Rename
	}
	if err := name(d.Name(), d.path); err != nil {
		return err
	}
	d.kept = true
	return SyncDirectory(filepath.Dir(d.path))
}

// Discard removes a file that was not kept.
func (d *Draft) Discard() {
	if d.kept {
		return
	}
	_ = d.Close() // it may be closed already
	_ = os.Remove(d.Name())
}

// takeName renames a file, but never replaces another one, which may have been created after
// the draft.
func takeName(from, to string) error {
	err := os.Link(from, to)
	switch {
	case err == nil:
		return os.Remove(from)
	case errors.Is(err, fs.ErrExist):
		return err
	default:
		return takeNameAlone(from, to) // a file system without hard links
	}
}

// takeNameAlone is takeName without hard links. It first creates an empty file with that
// name, which fails if the name exists, and then replaces it.
func takeNameAlone(from, to string) error {
	placeholder, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = errors.Join(placeholder.Close(), os.Rename(from, to))
	if err != nil {
		_ = os.Remove(to)
	}
	return err
}
