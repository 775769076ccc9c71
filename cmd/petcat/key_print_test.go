package main

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

func TestSecretThatCannotBeShown(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	openAccount(t, data, "acme")
	var errs bytes.Buffer
	code := run(t.Context(), []string{"key", "create", "acme", "--data", data}, nil, strings.NewReader(""), fullDisk{}, &errs)
	if code != exitFailed || !strings.Contains(errs.String(), "key_1 was created but could not be shown, so nobody can use it; revoke it") {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
}

// fullDisk is where nothing can be written.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }
