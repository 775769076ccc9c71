package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"petcat/internal/datadir"
)

// petcatRuns runs the program in this process, off a terminal, and returns what
// it printed.
func petcatRuns(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, environment(nil), strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// mustRun is petcatRuns for what has to succeed.
func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	code, stdout, stderr := petcatRuns(t, args...)
	if code != exitDone {
		t.Fatalf("petcat %s: exit code %d: %s", strings.Join(args, " "), code, stderr)
	}
	return stdout
}

func TestManagementWorksBesideAServer(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	dir, err := datadir.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	lock, err := dir.LockServer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := lock.Close(); err != nil {
			t.Error(err)
		}
	})
	openAccount(t, data, "acme", "free")
	mustRun(t, "key", "create", "acme", "--data", data)
	if got := mustRun(t, "key", "list", "--data", data); !strings.Contains(got, "key_1") {
		t.Errorf("key list shows %q", got)
	}
}

// The first use of a data directory may be several at once, as when a script
// makes all its accounts in parallel: the deployment is made once, and each
// account gets its own id.
func TestFirstAccountsAtOnce(t *testing.T) {
	const accounts = 8
	data := filepath.Join(t.TempDir(), "data")
	var started sync.WaitGroup
	for i := range accounts {
		started.Go(func() {
			name := fmt.Sprintf("name%d", i)
			for _, args := range [][]string{{"init"}, {"account", "create", name, "--plan", "free"}} {
				if code, _, stderr := petcatRuns(t, append(args, "--data", data)...); code != exitDone {
					t.Errorf("petcat %s: exit code %d: %s", args, code, stderr)
				}
			}
		})
	}
	started.Wait()
	list := mustRun(t, "account", "list", "--data", data)
	for id := 1; id <= accounts; id++ {
		if !strings.Contains(list, fmt.Sprintf("acct_%d ", id)) {
			t.Errorf("acct_%d is missing in\n%s", id, list)
		}
	}
}

func TestSecretThatCannotBeShown(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	openAccount(t, data, "acme", "free")
	var errs bytes.Buffer
	code := run(t.Context(), []string{"key", "create", "acme", "--data", data}, environment(nil), strings.NewReader(""), fullDisk{}, &errs)
	if code != exitFailed || !strings.Contains(errs.String(), "key_1 was created but could not be shown, so it is of no use; revoke it") {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
}

// fullDisk is where nothing can be written.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, fmt.Errorf("no space left on device") }
