package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"petcat"
)

// TestUnprintableSecrets checks that a change with a secret is not made, or undone, if the secret
// cannot be printed.
func TestUnprintableSecrets(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	openAccount(t, data, "acme")
	mustRun(t, "key", "create", "acme", "--data", data)
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	must(t, err)
	defer func() { must(t, null.Close()) }()
	for _, c := range []struct{ command, list, want string }{
		{"key create acme", "key list", `"revoked"`},
		{"key rotate key_1 --overlap 0", "key list", `"successor": null`},
		{"operator create ada --role admin", "operator list", "[]"},
		{"operator token create ci --role admin", "operator token list", `"revoked"`},
	} {
		t.Run(c.command, func(t *testing.T) {
			before := mustRun(t, append(strings.Fields(c.list), "--json", "--data", data)...)
			for _, stdout := range []io.Writer{null, fullDisk{}} {
				var errs bytes.Buffer
				code := run(t.Context(), append(strings.Fields(c.command), "--data", data), nil, strings.NewReader(""), stdout, &errs)
				if code != exitTryLater || !strings.Contains(errs.String(), "so the secret ") {
					t.Errorf("exit code %d: %s", code, errs.String())
				}
				after := mustRun(t, append(strings.Fields(c.list), "--json", "--data", data)...)
				if stdout == null && after != before || stdout != null && !strings.Contains(after, c.want) {
					t.Errorf("after output to %T: %s", stdout, after)
				}
			}
		})
	}
	var keys []struct{ State petcat.KeyState }
	must(t, json.Unmarshal([]byte(mustRun(t, "key", "list", "acme", "--json", "--data", data)), &keys))
	for i, k := range keys {
		if active := k.State == petcat.KeyActive; active != (i == 0) {
			t.Errorf("key_%d is %s", i+1, k.State)
		}
	}
}

// fullDisk is a writer that always fails.
type fullDisk struct{}

func (fullDisk) Write(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	return 0, syscall.ENOSPC
}
