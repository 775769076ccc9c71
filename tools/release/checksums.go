package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// sumsName is the list of checksums, in the form of sha256sum.
const sumsName = "SHA256SUMS"

// checksums lists what is in the folder, by name.
func (r *release) checksums(context.Context) error {
	files, err := os.ReadDir(r.out) // sorted
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join(r.out, file.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), file.Name())
	}
	return os.WriteFile(filepath.Join(r.out, sumsName), []byte(sums.String()), 0o644)
}
