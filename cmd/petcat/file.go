package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/datadir"
)

// dash stands for stdin or stdout instead of a file name.
const dash = "-"

// output is the file or stdout for the result of a command. A file appears under its name only when
// it is complete and durable.
type output struct {
	io.Writer
	path  string
	draft *datadir.Draft // nil for stdout
}

func (p *program) openOutput(path string, force, asJSON bool) (*output, error) {
	if path == dash && asJSON {
		return nil, usageErrorf("--json prints the report to stdout; give a file name in place of -")
	} else if path == dash {
		return &output{Writer: p.stdout, path: "stdout"}, nil
	}
	named := path
	if _, err := os.Lstat(path); err == nil { // replace the target, not the link
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return nil, usageErrorf("%s is a link to a file that does not exist; name the file itself", named)
		}
	}
	switch info, err := os.Stat(path); {
	case err == nil && !info.Mode().IsRegular():
		return nil, usageErrorf("%s is a directory, a device or a pipe; name a file, or - for stdout", named)
	case err == nil && !force:
		return nil, usageErrorf("%s already exists; choose another name, or replace it with --force", named)
	}
	draft, err := datadir.NewDraft(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usageErrorf("the directory %s does not exist; create it first", filepath.Dir(path))
	}
	if err != nil { // the cause determines the exit code
		return nil, fmt.Errorf(
			"cannot create a file in %s (%w); free some space, give this user write permission, or choose "+
				"another directory", filepath.Dir(path), reason(err))
	}
	return &output{Writer: draft, path: named, draft: draft}, nil
}

// reason removes the path from a system error, because the message already names it.
func reason(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// Write implements [io.Writer]. Its errors name the file as the user typed it.
func (o *output) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	return n, o.failed(err)
}

func (o *output) failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s cannot be written (%w); free some space, or choose another file", o.path, reason(err))
}

// keep makes the file durable and renames it to its name.
func (o *output) keep() error {
	if o.draft == nil {
		return nil
	}
	return o.failed(o.draft.Keep())
}

// discard removes the file unless it was kept.
func (o *output) discard() {
	if o.draft != nil {
		o.draft.Discard()
	}
}

// input is the file or stdin that a command reads.
type input struct {
	io.Reader
	regular bool // it can be read again
	done    func() error
}

// openInput opens a file, or stdin. give names the expected file in errors.
func (p *program) openInput(path, give string) (*input, error) {
	if path == dash {
		return &input{Reader: p.stdin, done: func() error { return nil }}, nil
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usageErrorf("the file %s does not exist; give %s", path, give)
	}
	if err != nil {
		return nil, petcat.Unusablef(err,
			"%s cannot be read (%v); give this user read permission, or choose another file", path, reason(err))
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = usageErrorf("%s is a directory; give %s", path, give)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &input{Reader: file, regular: info.Mode().IsRegular(), done: file.Close}, nil
}

// openBackup returns the path of a regular file with a backup. It copies a pipe or stdin to a
// temporary file, which done removes.
func (p *program) openBackup(ctx context.Context, path string) (regular string, done func(), err error) {
	in, err := p.openInput(path, "a file written by petcat backup")
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = in.done() }()
	if in.regular {
		return path, func() {}, nil
	}
	temporary, err := datadir.NewTemporary()
	if err != nil {
		return "", nil, err
	}
	_, err = io.Copy(temporary, in)
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		temporary.Discard()
		return "", nil, err
	}
	return temporary.Name(), temporary.Discard, nil
}
