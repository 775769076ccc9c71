package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"time"
)

func epoch(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

// entry is a file of an archive.
type entry struct {
	name string // with slashes
	mode fs.FileMode
	data []byte
}

// archives packs each program with what belongs to it, in a folder of the archive's name.
func (r *release) archives(context.Context) error {
	for _, p := range r.platforms {
		entries, err := r.entries(p)
		if err != nil {
			return err
		}
		write, extension := writeTarGzip, ".tar.gz"
		if p.system == "windows" {
			write, extension = writeZip, ".zip"
		}
		err = writeFile(r.file(p, extension), func(w io.Writer) error { return write(w, entries, r.when) })
		if err != nil {
			return err
		}
	}
	return nil
}

// entries returns what is in an archive, in order.
func (r *release) entries(p platform) ([]entry, error) {
	type files struct{ pattern, folder string }
	sources := []files{
		{r.program(p), ""},
		{filepath.Join(r.root, "LICENSE"), ""},
		{filepath.Join(r.root, "README.md"), ""},
		{filepath.Join(r.root, "CHANGELOG.md"), ""},
		{filepath.Join(r.stage, licencesName), ""},
		{filepath.Join(r.stage, "completions", "*"), "completions"},
		{filepath.Join(r.stage, "man", "*"), "man"},
	}
	if p.system == "linux" {
		units := filepath.Join(r.root, "deploy", "systemd")
		sources = append(sources,
			files{filepath.Join(units, "petcat*"), "systemd"},
			files{filepath.Join(units, "petcat.service.d", "*"), "systemd/petcat.service.d"},
			files{filepath.Join(units, "petcat@.service.d", "*"), "systemd/petcat@.service.d"})
	}
	top := fmt.Sprintf("petcat_%s_%s", r.version, p)
	var entries []entry
	for _, source := range sources {
		files, err := filepath.Glob(source.pattern) // sorted
		if err != nil {
			return nil, err
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("there is no %s", source.pattern)
		}
		for _, file := range files {
			info, err := os.Stat(file)
			if err != nil {
				return nil, err
			}
			if info.IsDir() {
				continue
			}
			data, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			e := entry{name: path.Join(top, source.folder, filepath.Base(file)), mode: 0o644, data: data}
			if file == r.program(p) {
				e.mode = 0o755
			}
			entries = append(entries, e)
		}
	}
	return entries, nil
}

// writeTarGzip has neither names of users nor times of its own.
func writeTarGzip(w io.Writer, entries []entry, when time.Time) error {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	return errors.Join(writeTar(compressed, entries, when), compressed.Close())
}

func writeTar(w io.Writer, entries []entry, when time.Time) error {
	archive := tar.NewWriter(w)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Mode: int64(e.mode), Size: int64(len(e.data)), ModTime: when, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(e.data); err != nil {
			return err
		}
	}
	return archive.Close()
}

func writeZip(w io.Writer, entries []entry, when time.Time) error {
	archive := zip.NewWriter(w)
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: when}
		header.SetMode(e.mode)
		f, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := f.Write(e.data); err != nil {
			return err
		}
	}
	return archive.Close()
}

// writeFile makes a file that everybody may read.
func writeFile(name string, write func(io.Writer) error) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}
