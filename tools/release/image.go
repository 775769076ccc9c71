package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// image makes an image that is what deploy/docker/Dockerfile says, for each platform of
// Linux, in one archive in the layout of OCI. It needs no docker and no base image.
func (r *release) image(context.Context) error {
	config, copies, err := readDockerfile(filepath.Join(r.root, "deploy", "docker", "Dockerfile"))
	if err != nil {
		return err
	}
	config.Labels = map[string]string{
		"org.opencontainers.image.title":    "petcat",
		"org.opencontainers.image.version":  r.version,
		"org.opencontainers.image.revision": r.revision,
		"org.opencontainers.image.licenses": "Apache-2.0",
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range r.linux() {
		image, err := r.imageFor(p, config, copies)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p.system, Architecture: p.architecture}},
		})
	}
	return r.writeLayout(index)
}

// imageFor returns an image with a layer for each COPY.
func (r *release) imageFor(p platform, config v1.Config, copies []copied) (v1.Image, error) {
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.ConfigFile(image, &v1.ConfigFile{
		OS: p.system, Architecture: p.architecture, Created: v1.Time{Time: r.when}, Config: config,
		RootFS: v1.RootFS{Type: "layers"},
	})
	if err != nil {
		return nil, err
	}
	for _, c := range copies {
		layer, err := r.layer(p, c)
		if err != nil {
			return nil, err
		}
		image, err = mutate.Append(image, mutate.Addendum{
			Layer: layer, History: v1.History{Created: v1.Time{Time: r.when}, CreatedBy: "COPY " + c.to},
		})
		if err != nil {
			return nil, err
		}
	}
	return image, nil
}

// layer returns what a COPY adds.
func (r *release) layer(p platform, c copied) (v1.Layer, error) {
	header := &tar.Header{
		Name: strings.TrimPrefix(c.to, "/"), Uid: c.user, Gid: c.user, ModTime: r.when, Typeflag: tar.TypeReg, Format: tar.FormatPAX,
	}
	var data []byte
	switch c.from {
	case "/out/petcat":
		program, err := os.ReadFile(r.program(p))
		if err != nil {
			return nil, err
		}
		data, header.Mode = program, 0o755
	case "/etc/ssl/certs/ca-certificates.crt":
		data, header.Mode = authorities(), 0o644
	case "/out/data":
		header.Typeflag, header.Mode = tar.TypeDir, 0o700
		header.Name += "/"
	default:
		return nil, fmt.Errorf("the image contains %s, of which this program knows nothing", c.from)
	}
	header.Size = int64(len(data))
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	if err := w.WriteHeader(header); err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(archive.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
}

// authorities returns the certificates that Mozilla trusts, from a module, so that they
// do not depend on the machine that makes the release. It leaves out those that are trusted only in
// part: a file cannot say so.
func authorities() []byte {
	var file bytes.Buffer
	for root := range bundle.Roots() {
		certificate, err := x509.ParseCertificate(root.Certificate)
		if err != nil || root.Constraint != nil {
			continue
		}
		_, _ = fmt.Fprintf(&file, "# %s\n", certificate.Subject)
		_ = pem.Encode(&file, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
	}
	return file.Bytes()
}

// writeLayout packs the index into one file, under the names by which programs look for
// it.
func (r *release) writeLayout(index v1.ImageIndex) error {
	folder := filepath.Join(r.stage, "image")
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	err = path.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": r.version,
		"io.containerd.image.name":          "petcat:" + r.version,
	}))
	if err != nil {
		return err
	}
	var entries []entry
	err = filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error { // by name
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		below, err := filepath.Rel(folder, name)
		entries = append(entries, entry{name: filepath.ToSlash(below), mode: 0o644, data: data})
		return err
	})
	if err != nil {
		return err
	}
	return writeFile(r.imageFile(), func(w io.Writer) error { return writeTar(w, entries, r.when) })
}

func (r *release) imageFile() string {
	return filepath.Join(r.out, fmt.Sprintf("petcat_%s_image.tar", r.version))
}
