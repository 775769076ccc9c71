package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// What a release keeps in the repository, for the next ones to be tested with.
const (
	keptData      = "e2e/testdata/released"
	keptDocuments = "api/released"
)

// checkKept refuses a schema of which no data is kept, and an API of which no document is.
func checkKept(root string) error {
	var faults []error
	for _, store := range []string{"sqlite", "postgres"} {
		files, err := filepath.Glob(filepath.Join(root, "internal", store, "migrations", "*.sql"))
		if err != nil {
			return err
		}
		if len(files) == 0 {
			return fmt.Errorf("internal/%s has no migrations", store)
		}
		number, _, _ := strings.Cut(filepath.Base(slices.Max(files)), "_")
		folder := fmt.Sprintf("%s/%s-%s", keptData, store, number)
		if _, err := os.Stat(filepath.Join(root, folder)); err != nil {
			faults = append(faults, fmt.Errorf("%s is missing, the data of the schema to be released: run make release-keep, and commit it", folder))
		}
	}
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
		faults = append(faults, fmt.Errorf("%s does not hold api/openapi.yaml: run make release-keep, and commit it", keptDocuments))
	}
	return errors.Join(faults...)
}
