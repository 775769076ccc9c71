//go:build !linux

package pgtest

import (
	"os/exec"
	"strconv"
	"strings"
)

func dieWithParent(*exec.Cmd) {}

// childrenOf returns the processes that pid started and that still run.
func childrenOf(pid int) []int {
	out, err := exec.Command("pgrep", "-P", strconv.Itoa(pid)).Output() //nolint:noctx // it ends at once
	if err != nil {
		return nil
	}
	var all []int
	for field := range strings.FieldsSeq(string(out)) {
		if child, err := strconv.Atoi(field); err == nil {
			all = append(all, child)
		}
	}
	return all
}

// running reports whether a process is there.
func running(pid int) bool { return kill(pid, 0) == nil }
