package e2e

import (
	"os"
	"syscall"
)

// Windows has no such signals, and sending one fails.
const (
	sigStop     = syscall.Signal(-1)
	sigContinue = syscall.Signal(-1)
)

// mostMemory is not known here.
func mostMemory(*os.ProcessState) int64 { return 0 }
