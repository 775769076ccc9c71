package pgtest

import (
	"os/exec"
	"syscall"
)

// These servers need signals, which Windows lacks. The tests compile there but cannot run.
const (
	sigStop     = syscall.Signal(-1)
	sigContinue = syscall.Signal(-1)
)

func kill(int, syscall.Signal) error { return syscall.EWINDOWS }

func (*owner) runs(*exec.Cmd) {}
