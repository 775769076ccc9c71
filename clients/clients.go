// Package clients holds the published packages of the clients for Python and TypeScript, which every
// server serves. It makes them from the sources, always with the same bytes.
package clients

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

//go:embed python/pyproject.toml python/README.md python/src/petcat/py.typed
//go:embed python/src/petcat/*.py
//go:embed typescript/package.json typescript/README.md typescript/dist
var files embed.FS

// Package is a file that pip or npm installs.
type Package struct {
	Name        string // of the file, with the client's version
	ContentType string
	Data        func() []byte
	Language    string
	Install     string // the command, without the URL of the file
	Guide       string // Markdown
}

// Python returns the wheel of the Python client.
func Python() Package {
	about := read("python/pyproject.toml")
	version := find(about, `(?m)^version = "(.*)"$`)
	return Package{
		Name:        "petcat-" + version + "-py3-none-any.whl",
		ContentType: "application/zip",
		Data:        func() []byte { return wheel(about, version) },
		Language:    "Python",
		Install:     "pip install",
		Guide:       read("python/README.md"),
	}
}

// wheel returns the content of a wheel, from pyproject.toml and its version.
func wheel(about, version string) []byte {
	info := "petcat-" + version + ".dist-info/"
	var metadata strings.Builder
	fmt.Fprintf(&metadata, "Metadata-Version: 2.1\nName: petcat\nVersion: %s\nSummary: %s\nLicense: %s\nRequires-Python: %s\n",
		version,
		find(about, `(?m)^description = "(.*)"$`),
		find(about, `(?m)^license = \{text = "(.*)"\}$`),
		find(about, `(?m)^requires-python = "(.*)"$`))
	for _, m := range regexp.MustCompile(`"([^"]+)"`).FindAllStringSubmatch(find(about, `(?m)^dependencies = \[(.*)\]$`), -1) {
		fmt.Fprintf(&metadata, "Requires-Dist: %s\n", m[1])
	}
	fmt.Fprintf(&metadata, "Description-Content-Type: text/markdown\n\n%s", read("python/README.md"))

	var b, record bytes.Buffer
	z := zip.NewWriter(&b)
	add := func(name string, data []byte) {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
		must(err)
		_, err = w.Write(data)
		must(err)
		sum := sha256.Sum256(data)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(sum[:]), len(data))
	}
	for _, name := range names("python/src/petcat") {
		add("petcat/"+path.Base(name), []byte(read(name)))
	}
	add(info+"METADATA", []byte(metadata.String()))
	add(info+"WHEEL", []byte("Wheel-Version: 1.0\nGenerator: petcat\nRoot-Is-Purelib: true\nTag: py3-none-any\n"))
	fmt.Fprintf(&record, "%sRECORD,,\n", info)
	add(info+"RECORD", slices.Clone(record.Bytes()))
	must(z.Close())
	return b.Bytes()
}

// TypeScript returns the npm package of the TypeScript client.
func TypeScript() Package {
	version := find(read("typescript/package.json"), `(?m)^  "version": "(.*)",$`)
	return Package{
		Name:        "petcat-" + version + ".tgz",
		ContentType: "application/gzip",
		Data:        tarball,
		Language:    "TypeScript",
		Install:     "npm install",
		Guide:       read("typescript/README.md"),
	}
}

// tarball returns the content of the npm package.
func tarball() []byte {
	var b bytes.Buffer
	compressed := gzip.NewWriter(&b)
	t := tar.NewWriter(compressed)
	for _, name := range append([]string{"typescript/package.json", "typescript/README.md"}, names("typescript/dist")...) {
		data := []byte(read(name))
		header := &tar.Header{Name: "package/" + strings.TrimPrefix(name, "typescript/"), Mode: 0o644, Size: int64(len(data))}
		must(t.WriteHeader(header))
		_, err := t.Write(data)
		must(err)
	}
	must(t.Close())
	must(compressed.Close())
	return b.Bytes()
}

// names returns the names of the files below a directory.
func names(directory string) (all []string) {
	must(fs.WalkDir(files, directory, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			all = append(all, name)
		}
		return err
	}))
	return all
}

func read(name string) string {
	data, err := files.ReadFile(name)
	must(err)
	return string(data)
}

// find returns the first group of a match.
func find(text, pattern string) string {
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		panic("clients: no match for " + pattern)
	}
	return m[1]
}

// must panics on an error, which cannot occur here: the files are part of the binary.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
