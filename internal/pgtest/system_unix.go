//go:build !windows

package pgtest

import (
	"os/exec"
	"syscall"
)

// The signals that suspend and resume a process.
const (
	sigStop     = syscall.SIGSTOP
	sigContinue = syscall.SIGCONT
)

func kill(pid int, sig syscall.Signal) error { return syscall.Kill(pid, sig) }

// runs makes a command run as the owner, in its own process group.
func (o *owner) runs(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if o.change {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: o.uid, Gid: o.gid}
	}
}
