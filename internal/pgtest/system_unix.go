//go:build !windows

package pgtest

import (
	"os/exec"
	"syscall"
)

// The signals that let a process hang, and go on.
const (
	sigStop     = syscall.SIGSTOP
	sigContinue = syscall.SIGCONT
)

func kill(pid int, sig syscall.Signal) error { return syscall.Kill(pid, sig) }

// runs makes a command run as the owner, in a group of processes of its own, so
// that a signal can reach all of them.
func (o *owner) runs(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if o.change {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: o.uid, Gid: o.gid}
	}
}
