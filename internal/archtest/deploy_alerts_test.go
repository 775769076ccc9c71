package archtest

import (
	"os/exec"
	"path/filepath"
	"testing"

	"petcat/internal/tooltest"
)

// TestAlertsFire runs the tests of the alerts: one that never fires looks like
// one that never had to.
func TestAlertsFire(t *testing.T) {
	promtool := tooltest.Find(t, "promtool", "prometheus")
	dir := filepath.Join(loadProject(t).root, "deploy/prometheus")
	for _, args := range [][]string{{"check", "rules", "alerts.yaml"}, {"test", "rules", "alerts_test.yaml"}} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = dir
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, said)
		}
	}
}
