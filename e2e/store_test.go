package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"petcat/internal/datadir"
)

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
