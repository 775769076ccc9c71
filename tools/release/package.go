package main

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
)

// packages makes a Debian package for each platform of Linux, as deploy/debian/nfpm.yaml
// says.
func (r *release) packages(context.Context) error {
	if err := r.preparePackages(); err != nil {
		return err
	}
	for _, p := range r.linux() {
		if err := r.debianPackage(p); err != nil {
			return err
		}
	}
	return nil
}

// preparePackages makes what Debian wants in another form: the unit, which runs the
// program of the package, and compressed pages and changes.
func (r *release) preparePackages() error {
	const byHand, byPackage = "ExecStart=/usr/local/bin/petcat ", "ExecStart=/usr/bin/petcat "
	unit, err := os.ReadFile(filepath.Join(r.root, "deploy", "systemd", "petcat.service"))
	if err != nil {
		return err
	}
	if strings.Count(string(unit), byHand) != 1 {
		return errors.New("deploy/systemd/petcat.service does not have one line " + byHand)
	}
	changed := strings.Replace(string(unit), byHand, byPackage, 1)
	if err := os.WriteFile(filepath.Join(r.stage, "petcat.service"), []byte(changed), 0o644); err != nil {
		return err
	}
	pages, err := filepath.Glob(filepath.Join(r.stage, "man", "*"))
	if err != nil {
		return err
	}
	folder := filepath.Join(r.stage, "debian")
	if err := os.MkdirAll(filepath.Join(folder, "man"), 0o755); err != nil {
		return err
	}
	compressed := map[string]string{filepath.Join(r.root, "CHANGELOG.md"): "changelog.gz"}
	for _, page := range pages {
		compressed[page] = filepath.Join("man", filepath.Base(page)+".gz")
	}
	for from, to := range compressed {
		data, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		err = writeFile(filepath.Join(folder, to), func(w io.Writer) error {
			z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
			if err != nil {
				return err
			}
			_, err = z.Write(data)
			return errors.Join(err, z.Close())
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *release) debianPackage(p platform) error {
	variables := map[string]string{
		"VERSION": r.version, "ARCHITECTURE": p.architecture, "MAINTAINER": r.maintainer,
		"ROOT": r.root, "STAGE": r.stage, "PROGRAM": r.program(p),
	}
	config, err := nfpm.ParseFileWithEnvMapping(filepath.Join(r.root, "deploy", "debian", "nfpm.yaml"), func(name string) string { return variables[name] })
	if err != nil {
		return err
	}
	info, err := config.Get("deb")
	if err != nil {
		return err
	}
	info.MTime = r.when
	info = nfpm.WithDefaults(info)
	for _, script := range []*string{&info.Scripts.PostInstall, &info.Scripts.PreRemove, &info.Scripts.PostRemove} {
		*script = filepath.Join(r.root, "deploy", "debian", *script)
	}
	if err := nfpm.Validate(info); err != nil {
		return err
	}
	return writeFile(r.file(p, ".deb"), func(w io.Writer) error { return (&deb.Deb{}).Package(info, w) })
}
