package clients_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/petcat-api/petcat/clients"
)

// TestPython: the wheel has each module, and RECORD has the right hash of each file.
func TestPython(t *testing.T) {
	p := clients.Python()
	if p.Name != "petcat-1.0.0-py3-none-any.whl" {
		t.Errorf("the file is named %s", p.Name)
	}
	data := p.Data()
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	must(t, err)
	record, err := z.Open("petcat-1.0.0.dist-info/RECORD")
	must(t, err)
	lines, err := io.ReadAll(record)
	must(t, err)
	got := map[string]bool{}
	for _, f := range z.File {
		r, err := f.Open()
		must(t, err)
		data, err := io.ReadAll(r)
		must(t, err)
		got[f.Name] = true
		sum := sha256.Sum256(data)
		line := f.Name + ",sha256=" + base64.RawURLEncoding.EncodeToString(sum[:])
		if !strings.HasSuffix(f.Name, "RECORD") && !bytes.Contains(lines, []byte(line)) {
			t.Errorf("RECORD has no line %s", line)
		}
		if strings.HasSuffix(f.Name, "METADATA") && !bytes.Contains(data, []byte("\nRequires-Dist: httpx>=0.23,<1\n")) {
			t.Errorf("METADATA is %s", data)
		}
	}
	for _, name := range sources(t, "python/src/petcat") {
		if !got["petcat/"+filepath.Base(name)] {
			t.Errorf("%s is missing", name)
		}
	}
}

// TestTypeScript: the npm package has the built files, and none else.
func TestTypeScript(t *testing.T) {
	p := clients.TypeScript()
	if p.Name != "petcat-1.0.0.tgz" {
		t.Errorf("the file is named %s", p.Name)
	}
	z, err := gzip.NewReader(bytes.NewReader(p.Data()))
	must(t, err)
	got := map[string]bool{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		got[strings.TrimPrefix(h.Name, "package/")] = true
	}
	want := append(sources(t, "typescript/dist"), "typescript/package.json", "typescript/README.md")
	for _, name := range want {
		if !got[strings.TrimPrefix(filepath.ToSlash(name), "typescript/")] {
			t.Errorf("%s is missing", name)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d files, want %d", len(got), len(want))
	}
}

// sources returns the files below a directory, except caches.
func sources(t *testing.T, directory string) (all []string) {
	t.Helper()
	must(t, filepath.WalkDir(directory, func(name string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && filepath.Ext(name) != ".pyc" {
			all = append(all, name)
		}
		return err
	}))
	return all
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
