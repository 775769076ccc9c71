package archtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoSkips: what CI looks at finds each test that was skipped, and lets pass those alone
// that need FUSE, where there is none.
func TestNoSkips(t *testing.T) {
	p := loadProject(t)
	const (
		passed = "=== RUN   TestA\n--- PASS: TestA (0.10s)\n"
		fuse   = "--- SKIP: TestPowerCuts (0.00s)\n"
		other  = "    --- SKIP: TestA/sub (0.00s)\n"
	)
	for _, c := range []struct {
		name, output, device, says string
		fails                      bool
	}{
		{"all passed", passed, "/dev/null", "", false},
		{"one skipped", passed + other, "/dev/null", "SKIPPED: TestA/sub", true},
		{"FUSE, which is missing", passed + fuse, "/dev/none", "NOT TESTED: TestPowerCuts", false},
		{"FUSE, which is there", passed + fuse, "/dev/null", "TestPowerCuts", os.Getuid() == 0},
		{"FUSE and another one", fuse + other, "/dev/none", "SKIPPED: TestA/sub", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "output")
			if err := os.WriteFile(file, []byte(c.output), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), filepath.Join(p.root, "scripts", "no-skips"), file)
			cmd.Env = append(os.Environ(), "FUSE="+c.device)
			said, err := cmd.CombinedOutput()
			if (err != nil) != c.fails || !strings.Contains(string(said), c.says) {
				t.Errorf("%v: %s", err, said)
			}
		})
	}
}
