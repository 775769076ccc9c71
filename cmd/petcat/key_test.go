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

	"github.com/petcat-api/petcat"
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
		{"operator create ada --role admin", "operator list", "[]"},
		{"operator token create ci --role admin", "operator token list", `"revoked"`},
	} {
		t.Run(c.command, func(t *testing.T) {
			before := mustRun(t, append(strings.Fields(c.list), "--json", "--data", data)...)
			for _, stdout := range []io.Writer{null, fullDisk{}} {
				var errs bytes.Buffer
				code := run(
					t.Context(),
					append(strings.Fields(c.command), "--data", data),
					nil,
					strings.NewReader(""),
					stdout,
					&errs,
				)
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

// TestUnprintableRotation: a rotation whose secret cannot be printed is not undone. Rotating the
// successor gives another secret, while the old key still works.
func TestUnprintableRotation(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	openAccount(t, data, "acme")
	mustRun(t, "key", "create", "acme", "--data", data)
	var errs bytes.Buffer
	args := []string{"key", "rotate", "key_1", "--data", data}
	code := run(t.Context(), args, nil, strings.NewReader(""), fullDisk{}, &errs)
	if code != exitTryLater {
		t.Errorf("exit code %d, want %d", code, exitTryLater)
	}
	for _, part := range []string{
		"key_1 was rotated and works until ",
		"the secret of its successor key_2 is lost",
		"run: petcat key rotate key_2\n",
	} {
		if !strings.Contains(errs.String(), part) {
			t.Errorf("stderr lacks %q: %s", part, errs.String())
		}
	}
	mustRun(t, "key", "rotate", "key_2", "--data", data)
	var keys []struct {
		State     petcat.KeyState
		Successor string
	}
	must(t, json.Unmarshal([]byte(mustRun(t, "key", "list", "acme", "--json", "--data", data)), &keys))
	for i, successor := range []string{"key_2", "key_3", ""} {
		if keys[i].State != petcat.KeyActive || keys[i].Successor != successor {
			t.Errorf("key_%d is %s, with the successor %q", i+1, keys[i].State, keys[i].Successor)
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
