package tooltest

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"path"
	"strings"
	"testing"
)

// WantChecksums compares the files in a folder with the checksums in its SHA256SUMS, which
// were taken when the files came, so that nobody mends them by hand.
func WantChecksums(tb testing.TB, files fs.FS, folder string) {
	tb.Helper()
	read := func(name string) []byte {
		data, err := fs.ReadFile(files, path.Join(folder, name))
		if err != nil {
			tb.Fatal(err)
		}
		return data
	}
	known := map[string]bool{"SHA256SUMS": true, "README.md": true}
	for lines := bufio.NewScanner(bytes.NewReader(read("SHA256SUMS"))); lines.Scan(); {
		want, name, ok := strings.Cut(lines.Text(), "  ")
		if !ok {
			tb.Fatalf("SHA256SUMS: %q", lines.Text())
		}
		known[name] = true
		if sum := sha256.Sum256(read(name)); hex.EncodeToString(sum[:]) != want {
			tb.Errorf("%s was changed", name)
		}
	}
	all, err := fs.ReadDir(files, folder)
	if err != nil {
		tb.Fatal(err)
	}
	for _, f := range all {
		if !known[f.Name()] {
			tb.Errorf("%s is not in SHA256SUMS", f.Name())
		}
	}
}
