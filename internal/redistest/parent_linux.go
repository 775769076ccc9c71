package redistest

import (
	"os/exec"
	"syscall"
)

// dieWithParent keeps a server from outliving a test that is killed.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
