package server

import (
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// TestNodeLeavesNothingBehind runs in a process of its own: what other tests have
// under way is not what a node leaves.
func TestNodeLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	const alone = "PETCAT_TEST_ALONE"
	if os.Getenv(alone) == "" {
		cmd := exec.CommandContext(t.Context(), must(os.Executable()), "-test.v", "-test.count=1", "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), alone+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	data := filepath.Join(t.TempDir(), "data")
	before, files := goleak.IgnoreCurrent(), openFiles(t)
	useNode(t, data)
	goleak.VerifyNone(t, before)
	if after := openFiles(t); after > files {
		t.Errorf("%d files are open; before the start there were %d", after, files)
	}
	if left, err := filepath.Glob(filepath.Join(data, ".writable-*")); err != nil || len(left) > 0 {
		t.Errorf("files are left: %v %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(data, "petcat.db-wal")); err == nil {
		t.Error("the write-ahead log is left after an orderly stop")
	}
}

// useNode starts a node, creates and lists a category, and stops it.
func useNode(t *testing.T, data string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := testOptions(t, data, io.Discard)
	o.TuneGC = true
	n := must(Start(ctx, o))
	_, secret := newKey(t, n.Accounts())
	client := &http.Client{Transport: &http.Transport{}}
	for _, c := range []struct {
		method, body string
		status       int
	}{{http.MethodPost, `{"name":"dog"}`, http.StatusCreated}, {http.MethodGet, "", http.StatusOK}} {
		r := must(http.NewRequestWithContext(ctx, c.method, n.PublicURL()+"/v1/categories", strings.NewReader(c.body)))
		r.Header.Set("Authorization", "Bearer "+secret.Reveal())
		res := must(client.Do(r))
		_ = must(io.ReadAll(res.Body))
		_ = res.Body.Close()
		if res.StatusCode != c.status {
			t.Errorf("%s ended with %s", c.method, res.Status)
		}
	}
	client.CloseIdleConnections()
	if err := n.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

// openFiles counts this process's open files, where the system tells.
func openFiles(t *testing.T) int {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	return len(must(os.ReadDir("/proc/self/fd")))
}
