package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"petcat/internal/config"
	"petcat/internal/osfile"
)

// output is the file or stdout to which a command writes its result. A regular file appears
// under its name only when it is complete and on disk. A device or a pipe is written to.
type output struct {
	io.Writer
	path   string
	draft  *osfile.Draft // nil for stdout, a device or a pipe
	stream *os.File      // the device or pipe
}

func (p *program) openOutput(path string, force, asJSON bool) (*output, error) {
	if path == dash {
		if asJSON {
			return nil, usageErrorf("--json prints the report to stdout; give a file name in place of -")
		}
		return &output{Writer: p.stdout, path: "stdout"}, nil
	}
	if path, err := filepath.EvalSymlinks(path); err == nil { // a link stays; its target is replaced
		return openFile(path, force)
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, usageErrorf("%s is a link to a file that does not exist; name the file itself", path)
	}
	return openFile(path, force)
}

func openFile(path string, force bool) (*output, error) {
	switch info, err := os.Stat(path); {
	case err == nil && info.IsDir():
		return nil, usageErrorf("%s is a directory; name a file in it", path)
	case err == nil && !info.Mode().IsRegular():
		stream, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, config.Errorf("%s cannot be written (%w); give this user write permission, or choose another file", path, reason(err))
		}
		return &output{Writer: stream, path: path, stream: stream}, nil
	case err == nil && !force:
		return nil, usageErrorf("%s already exists; choose another name, or replace it with --force", path)
	}
	draft, err := osfile.NewDraft(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, usageErrorf("the directory %s does not exist; create it first", filepath.Dir(path))
	case err != nil: // its exit code is by the reason
		return nil, fmt.Errorf("no file can be made in %s (%w); free some space, give this user write permission, or choose another directory", filepath.Dir(path), reason(err))
	}
	return &output{Writer: draft, path: path, draft: draft}, nil
}

// reason removes the path from a system error, because the message already names it.
func reason(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// Write writes to the file. Its errors name the file that the user typed.
func (o *output) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	if err != nil {
		err = o.failed(err)
	}
	return n, err
}

func (o *output) failed(err error) error {
	if o.draft == nil {
		return fmt.Errorf("%s cannot be written: %w", o.path, reason(err))
	}
	return fmt.Errorf("%s cannot be written, and what there was of it is removed (%w); free some space, or choose another directory", o.path, reason(err))
}

// keep makes the file durable and gives it its name.
func (o *output) keep() error {
	switch {
	case o.stream != nil:
		return o.stream.Close()
	case o.draft == nil:
		return nil
	}
	if err := o.draft.Keep(); err != nil {
		return o.failed(err)
	}
	return nil
}

// discard removes a file that was not kept.
func (o *output) discard() {
	if o.draft != nil {
		o.draft.Discard()
	}
	if o.stream != nil {
		_ = o.stream.Close()
	}
}

// input is the file or stdin from which a command reads.
type input struct {
	io.Reader
	file *os.File // nil if it can be read only once
	done func() error
}

// openInput opens a file, or stdin. give describes in its errors which file is expected.
func (p *program) openInput(path, give string) (*input, error) {
	if path == dash {
		return &input{Reader: p.stdin, done: func() error { return nil }}, nil
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usageErrorf("the file %s does not exist; give %s", path, give)
	}
	if err != nil {
		return nil, config.Errorf("%s cannot be read (%w); give this user read permission, or choose another file", path, reason(err))
	}
	in := &input{Reader: file, done: file.Close}
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, errors.Join(err, file.Close())
	case info.IsDir():
		_ = file.Close()
		return nil, usageErrorf("%s is a directory; give %s", path, give)
	case info.Mode().IsRegular():
		in.file = file
	}
	return in, nil
}

// openBackup returns the path of a regular file with a backup. What can be read only once,
// such as a pipe or stdin, is copied to a temporary file, which done removes.
func (p *program) openBackup(ctx context.Context, path string) (regular string, done func(), err error) {
	in, err := p.openInput(path, "a file written by petcat backup")
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = in.done() }()
	if in.file != nil {
		return path, func() {}, nil
	}
	temporary, err := os.CreateTemp("", ".petcat-*.backup")
	if err != nil {
		return "", nil, noTemporary(err)
	}
	done = func() { _ = os.Remove(temporary.Name()) }
	_, err = io.Copy(temporary, in)
	if err = errors.Join(err, temporary.Close()); err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		done()
		return "", nil, noTemporary(err)
	}
	return temporary.Name(), done, nil
}
