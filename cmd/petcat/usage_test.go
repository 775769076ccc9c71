package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/petcat-api/petcat"
)

// TestIncompleteTotal: a total over periods with gaps is also incomplete.
func TestIncompleteTotal(t *testing.T) {
	var out strings.Builder
	c := &call{program: &program{stdout: &out, isTerminal: func(any) bool { return false }}, cmd: &cobra.Command{}}
	must(t, c.printUsage(petcat.UsageHistory{Periods: []petcat.UsagePeriod{{Incomplete: true}, {}}}, "none"))
	must(t, c.flush())
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, "total") || !strings.HasSuffix(last, "true") {
		t.Errorf("the total is %q", last)
	}
}
