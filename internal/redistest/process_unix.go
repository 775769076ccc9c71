//go:build unix

package redistest

import (
	"os"
	"os/exec"
	"syscall"
)

// prepare puts a server into a process group with the children that it will have.
func prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
}

// kill ends a server and the children that save its data for a replica: they would still
// write to its folder.
func kill(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGKILL) }

func suspend(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }
func resume(p *os.Process) error  { return p.Signal(syscall.SIGCONT) }
