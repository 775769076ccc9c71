package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// release is one set of files.
type release struct {
	root     string // of the repository
	out      string // the folder that it makes
	version  string // without a v
	revision string // of the source
	when     time.Time
	// maintainer of the package: a name and an address, as in a mail.
	maintainer string
	// platforms are those that it is for.
	platforms []platform

	// stage is where what the files are made of is put together. It has a folder for
	// each platform with its program, and what all of them have in common.
	stage string
}

// platform is what a program is built for.
type platform struct{ system, architecture string }

func (p platform) String() string { return p.system + "_" + p.architecture }

// released are the platforms of a release.
func released() []platform {
	return []platform{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "arm64"}, {"windows", "amd64"}}
}

// linux returns those that have a package and an image.
func (r *release) linux() (of []platform) {
	for _, p := range r.platforms {
		if p.system == "linux" {
			of = append(of, p)
		}
	}
	return of
}

// stagePrefix begins the name of the folder in which files are put together.
const stagePrefix = "petcat-stage-"

// make makes all files, or none.
func (r *release) make(ctx context.Context) (err error) {
	if r.stage, err = os.MkdirTemp("", stagePrefix); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(r.stage) }()
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(r.out)
		}
	}()
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"programs", r.programs},
		{"man pages and completions", r.documents},
		{"licences", r.licences},
		{"what is in each program", r.inventories},
		{"archives", r.archives},
		{"Debian packages", r.packages},
		{"image", r.image},
		{"checksums", r.checksums},
	} {
		_, _ = fmt.Fprintln(os.Stderr, "make release:", step.what)
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	_, _ = fmt.Fprintln(os.Stderr, "make release:", r.out)
	return nil
}

// file returns where a file of the release for a platform goes.
func (r *release) file(p platform, extension string) string {
	return filepath.Join(r.out, fmt.Sprintf("petcat_%s_%s%s", r.version, p, extension))
}

// program returns where the program for a platform is.
func (r *release) program(p platform) string {
	name := "petcat"
	if p.system == "windows" {
		name += ".exe"
	}
	return filepath.Join(r.stage, p.String(), name)
}
