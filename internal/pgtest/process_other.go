//go:build !linux

package pgtest

import (
	"os/exec"
	"strconv"
	"strings"
)

func dieWithParent(*exec.Cmd) {}

// childrenOf returns the running child processes of pid.
func childrenOf(pid int) []int {
	out, err := exec.Command("pgrep", "-P", strconv.Itoa(pid)).Output() //nolint:noctx // it exits at once
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

// running reports whether a process exists.
func running(pid int) bool { return kill(pid, 0) == nil }
