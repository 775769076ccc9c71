package pgtest

import (
	"os/exec"
	"syscall"
)

// Windows has no signals, and these servers need them: this lets the tests compile, not
// run.
const (
	sigStop     = syscall.Signal(-1)
	sigContinue = syscall.Signal(-1)
)

func kill(int, syscall.Signal) error { return syscall.EWINDOWS }

func (*owner) runs(*exec.Cmd) {}
