//go:build !windows

package backup

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// asGroup makes a program and the programs that it starts a process group, which is killed as a whole.
func asGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
}
