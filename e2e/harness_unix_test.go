//go:build !windows

package e2e

import (
	"os"
	"syscall"
)

// The signals that let a process hang, and go on.
const (
	sigStop     = syscall.SIGSTOP
	sigContinue = syscall.SIGCONT
)

// mostMemory returns how many bytes a process that has ended took at most, where Linux
// counts them.
func mostMemory(ended *os.ProcessState) int64 {
	if usage, ok := ended.SysUsage().(*syscall.Rusage); ok {
		return usage.Maxrss << 10
	}
	return 0
}
