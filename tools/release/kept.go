package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// keptDocuments are the API's documents that were released.
const keptDocuments = "api/released"

// checkKept refuses an API whose document is not kept for later releases to be tested with.
func checkKept(root string) error {
	document, err := os.ReadFile(filepath.Join(root, "api", "openapi.yaml"))
	if err != nil {
		return err
	}
	kept, err := filepath.Glob(filepath.Join(root, keptDocuments, "*.yaml"))
	if err != nil {
		return err
	}
	found := slices.ContainsFunc(kept, func(name string) bool {
		text, err := os.ReadFile(name)
		return err == nil && bytes.Equal(text, document)
	})
	if !found {
		return fmt.Errorf("%s does not hold api/openapi.yaml: run make release-keep, and commit it", keptDocuments)
	}
	return nil
}
